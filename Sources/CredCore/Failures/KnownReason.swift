/// The words of libcurl and OpenSSL that messages may show: the phrases below, and numbers. Their other
/// texts may repeat what the libraries were given, such as a proxy's URL with its password.
public enum KnownReason {
  /// Why a handshake of TLS failed; nil if the text says nothing of it.
  ///
  /// - Parameter said: libcurl's text, as `error:0A000126:SSL routines::unexpected eof while reading`.
  public static func tls(in said: String) -> String? {
    let text = said.lowercased()
    if let phrase = phrases.first(where: { text.contains(bytesOf: $0) }) { return phrase }
    return number(in: text).map { "OpenSSL's error \($0)" }
  }

  /// OpenSSL's reasons and alerts. One that is a part of another one comes after it.
  private static let phrases = [
    "unexpected eof while reading", "connection reset by peer", "wrong version number",
    "packet length too long", "alert protocol version", "unsupported protocol",
    "no protocols available", "alert handshake failure", "handshake failure", "no shared cipher",
    "alert insufficient security", "alert unrecognized name", "alert no application protocol",
    "alert certificate required", "alert bad certificate", "alert unsupported certificate",
    "alert certificate revoked", "alert certificate expired", "alert certificate unknown",
    "alert unknown ca", "alert access denied", "alert internal error", "alert decode error",
    "alert decrypt error", "alert illegal parameter", "alert inappropriate fallback",
    "alert user canceled", "alert unexpected message", "alert bad record mac",
    "unsafe legacy renegotiation disabled", "dh key too small", "ee key too small",
    "ca key too small", "ca md too weak", "wrong signature type", "wrong curve", "bad signature",
    "bad record mac", "certificate verify failed", "internal error", "ssl_error_syscall",
    "ssl_error_zero_return",
  ]

  /// The eight hexadecimal digits after `error:`.
  private static func number(in text: String) -> String? {
    let word = text.split(separator: " ").first { $0.hasPrefix("error:") }
    guard let digits = word?.dropFirst(6).prefix(8), digits.utf8.count == 8,
      digits.utf8.allSatisfy(\.isHexDigit)
    else { return nil }
    return digits.uppercased()
  }

  /// Why a certificate is not trusted.
  ///
  /// - Parameter result: OpenSSL's result of the verification (`X509_V_ERR_`…).
  public static func certificate(_ result: Int) -> String {
    verifications[result] ?? "OpenSSL's verification error \(result)"
  }

  /// In OpenSSL's words.
  private static let verifications = [
    2: "unable to get issuer certificate", 7: "certificate signature failure",
    9: "certificate is not yet valid", 10: "certificate has expired",
    18: "self-signed certificate", 19: "self-signed certificate in certificate chain",
    20: "unable to get local issuer certificate", 21: "unable to verify the first certificate",
    22: "certificate chain too long", 23: "certificate revoked",
    24: "issuer certificate doesn't have a public key",
    25: "path length constraint exceeded", 26: "unsuitable certificate purpose",
    27: "certificate not trusted", 28: "certificate rejected",
    32: "key usage does not include certificate signing", 34: "unhandled critical extension",
    47: "permitted subtree violation", 48: "excluded subtree violation",
    66: "EE certificate key too weak", 67: "CA certificate key too weak",
    68: "CA signature digest algorithm too weak", 79: "invalid CA certificate",
  ]
}
