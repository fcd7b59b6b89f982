import CredCore
import TestSupport
import Testing

struct KnownReasonTests {
  @Test(
    arguments: [
      (
        "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a.example:443", "ssl_error_syscall"
      ),
      ("error:0A00010B:SSL routines::wrong version number", "wrong version number"),
      (
        "TLS connect error: error:0A000410:SSL routines::ssl/tls alert handshake failure",
        "alert handshake failure"
      ),
      ("error:0A000999:SSL routines::http://u:hidden@p", "OpenSSL's error 0A000999"),
      ("error:hiddenpw:x", nil), ("Unsupported proxy syntax in 'http://u:hidden@p'", nil),
      ("", nil),
    ] as [(String, String?)])
  func ofTheTextOnlyWhatIsKnownIsShown(_ said: String, _ shown: String?) {
    expect(KnownReason.tls(in: said), equals: shown)
  }

  @Test func ofACertificateTheResultIsToldInWords() {
    expect(KnownReason.certificate(10), equals: "certificate has expired")
    expect(KnownReason.certificate(999), equals: "OpenSSL's verification error 999")
  }
}
