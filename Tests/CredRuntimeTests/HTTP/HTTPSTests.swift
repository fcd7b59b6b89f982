import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredTransfer

struct HTTPSTests {
  private static let made = Result { try Certificates() }
  private let certificates: Certificates

  init() throws {
    certificates = try Self.made.get()
  }

  private func get(
    _ fake: TLSFake, host: String = "localhost", client: ClientFixture? = nil,
    authority: String? = "ca", certificate: String? = nil, key: String? = nil
  ) throws -> Result<HTTPReply, TransportFailure> {
    let authority = authority.map { certificates.path($0) }
    let certificate = certificate.map { certificates.path($0) }
    let key = key.map { certificates.path($0) }
    let request = HTTPRequest(method: .get, url: "https://\(host):\(fake.port)/")
    return try (client ?? ClientFixture()).send(request) {
      $0.caFile = authority
      $0.clientCertificate = certificate
      $0.clientKey = key
    }
  }

  @Test func `a certificate of the configured authority is trusted`() throws {
    let fake = try TLSFake(certificates, "good")
    expect(try get(fake).text, equals: "TLSv1.3 nobody new")
    expect(try get(fake, host: "127.0.0.1").text, equals: "TLSv1.3 nobody new")
  }

  @Test func `a second connection resumes the TLS session`() throws {
    let fake = try TLSFake(certificates, "good")
    let client = try ClientFixture()
    let replies = try (0..<3).map { _ in try get(fake, client: client).text }
    expect(replies, equals: ["TLSv1.3 nobody new", "TLSv1.3 nobody again", "TLSv1.3 nobody again"])
  }

  @Test func `a certificate for another host is told by its names`() throws {
    let failure = try get(TLSFake(certificates, "wrong")).failure
    expect(failure, equals: .otherHost)
    expect(failure?.certificateNames, equals: ["elsewhere.example"])
  }

  @Test func `of many names in a certificate the first are kept and others counted`() {
    let many = (1...9499).map { "DNS:host-\($0).example" }.joined(separator: ", ")
    let names = CertificateNames(alternative: many, subject: "CN = other.example")
    expect(names.first, equals: ["host-1.example", "host-2.example", "host-3.example"])
    // Of 8192 bytes, and not of the whole text.
    expect((100...400).contains(names.further), "\(names.further)")
    let subject = CertificateNames(alternative: nil, subject: "O = Example, CN = other.example")
    expect(subject.first, equals: ["other.example"])
    expect(subject.further, equals: 0)
  }

  @Test func `a port that closes during the handshake is told`() throws {
    let (listener, port) = try Socket.listeningOnLoopback()
    defer { listener.shutDown() }
    Thread.detachNewThread {
      guard let client = listener.accept() else { return }
      _ = client.receive()
    }
    let failure = try ClientFixture().get("https://127.0.0.1:\(port)/").failure
    expect(failure, equals: .tls)
    expect(failure?.endsHandshake, equals: true, "\(failure?.detail ?? "")")
  }

  @Test func `a port without TLS is told from a broken handshake`() throws {
    let (listener, port) = try Socket.listeningOnLoopback()
    defer { listener.shutDown() }
    Thread.detachNewThread {
      guard let client = listener.accept() else { return }
      _ = client.receive()
      _ = client.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    }
    expect(try ClientFixture().get("https://127.0.0.1:\(port)/").failure, equals: .notTLS)
  }

  @Test func `plain HTTP to a port with TLS is no reply`() throws {
    let fake = try TLSFake(certificates, "good")
    let failure = try ClientFixture().get("http://localhost:\(fake.port)/").failure
    expect(failure == .reset || failure == .malformed, "\(String(describing: failure))")
    expect(failure?.hasBegun, equals: false)
  }

  @Test(arguments: ["expired", "self"])
  func `a certificate that does not hold is refused`(_ name: String) throws {
    let failure = try get(TLSFake(certificates, name)).failure
    expect(failure, equals: .certificate)
    // OpenSSL's own reason.
    expect(failure?.reason?.contains("certificate") == true, "\(failure?.reason ?? "")")
  }

  @Test(arguments: [nil, "other"])
  func `without the right authority it is refused`(_ authority: String?) throws {
    expect(
      try get(TLSFake(certificates, "good"), authority: authority).failure, equals: .certificate)
  }

  @Test func `a missing file of authorities is this host's own fault`() throws {
    let failure = try get(TLSFake(certificates, "good"), authority: "missing").failure
    expect(failure, equals: .ownFile)
    expect(failure?.ownFile, equals: .authority)
  }

  /// The server is not to blame.
  @Test(
    arguments: [
      ("client", "locked-key", .key), ("client", "missing", .key),
      ("missing", "client-key", .certificate), ("good", "client-key", .key),
    ] as [(String, String, OwnTLSFile)])
  func `an own file that cannot be used is named`(
    certificate: String, key: String, file: OwnTLSFile
  ) throws {
    let fake = try TLSFake(certificates, "good", asksForClient: true)
    let failure = try get(fake, certificate: certificate, key: key).failure
    expect(failure, equals: .ownFile)
    // Which of the two a key is that fits no certificate depends on libcurl's version.
    expect(failure?.ownFile == file || certificate == "good" && failure?.ownFile == .pair)
  }

  @Test func `an authority trusted by one request is not trusted by the next`() throws {
    let fake = try TLSFake(certificates, "good")
    let client = try ClientFixture()
    for next in ["other", nil] {
      expect(try get(fake, client: client).text != nil)
      expect(try get(fake, client: client, authority: next).failure, equals: .certificate)
    }
  }

  /// For older versions see `versionsBeforeTLS12AreRefusedWhateverTheHostAllows`: a host's own
  /// configuration of OpenSSL refuses them as well.
  @Test func `TLS 1_2 is spoken`() throws {
    expect(
      try get(TLSFake(certificates, "good", version: "TLSv1_2")).text, equals: "TLSv1.2 nobody new")
    expect(try get(TLSFake(certificates, "good", version: "TLSv1_1")).failure, equals: .tls)
  }

  @Test func `a client certificate is shown`() throws {
    let fake = try TLSFake(certificates, "good", asksForClient: true)
    let reply = try get(fake, certificate: "client", key: "client-key")
    expect(reply.failure == nil)
    expect(reply.text, equals: "TLSv1.3 client new")
    // The server's alert may be lost when it closes the connection.
    let refused = try get(fake).failure
    expect(refused == .clientRefused || refused == .reset, "\(String(describing: refused))")
  }

  @Test func `a key that needs a passphrase is an error without a prompt`() throws {
    let fake = try TLSFake(certificates, "good", asksForClient: true)
    expect(try get(fake, certificate: "client", key: "locked-key").failure, equals: .ownFile)
  }

  @Test(arguments: [true, false])
  func `through a kept tunnel the server is to blame`(_ isSilent: Bool) throws {
    let tunnel = try TunnelFake(certificates, isSilent: isSilent)
    let client = try ClientFixture(environment: ["https_proxy": "http://127.0.0.1:\(tunnel.port)"])
    let authority = certificates.path("ca")
    func get(_ timeout: Duration) throws -> Result<HTTPReply, TransportFailure> {
      let request = HTTPRequest(method: .get, url: "https://elsewhere.example/")
      return try client.send(request, timeout: timeout) { $0.caFile = authority }
    }
    expect(try get(HangLimit.duration).text, equals: "first")
    let failure = try get(isSilent ? .seconds(1) : HangLimit.duration).failure
    expect(failure, equals: isSilent ? .timeout : .reset, "\(failure?.detail ?? "")")
  }

  @Test func `a proxy whose certificate is not trusted is named`() throws {
    let proxy = try TLSFake(certificates, "good")
    let client = try ClientFixture(environment: ["https_proxy": "https://127.0.0.1:\(proxy.port)"])
    let failure = try client.get("https://elsewhere.example/").failure
    withExtendedLifetime(proxy) {}
    expect(failure?.kind, equals: .proxyConnect, "\(failure?.detail ?? "")")
    expect(failure?.reason, equals: "unable to get local issuer certificate")
  }

  /// OpenSSL has the words for the results of a verification.
  @Test func `a result of OpenSSL is told in its words`() throws {
    guard let library = unsafe dlopen("libcrypto.so.3", RTLD_NOW),
      let symbol = unsafe dlsym(library, "X509_verify_cert_error_string")
    else { throw CocoaError(.fileNoSuchFile) }
    typealias Words = @convention(c) (Int) -> UnsafePointer<CChar>?
    let words = unsafe unsafeBitCast(symbol, to: Words.self)
    for result in 1...100 {
      let told = KnownReason.certificate(result)
      guard !told.hasPrefix("OpenSSL's"), let own = unsafe words(result) else { continue }
      expect(told, equals: unsafe String(cString: own))
    }
    expect(KnownReason.certificate(79), equals: "invalid CA certificate")
  }

  @Test func `after silence in HTTP 2 a request goes over a new connection`() throws {
    let server = try SilentHTTP2(certificates)
    let client = try ClientFixture()
    let authority = certificates.path("ca")
    func get(_ timeout: Duration) throws -> Result<HTTPReply, TransportFailure> {
      try client.send(HTTPRequest(method: .get, url: server.url), timeout: timeout) {
        $0.caFile = authority
      }
    }
    expect(try get(HangLimit.duration).text, equals: "1")
    expect(try get(.seconds(1)).failure, equals: .timeout)
    expect(try get(HangLimit.duration).text, equals: "2")
  }

  @Test func `a reason of OpenSSL is one that is known`() throws {
    let expired = try get(TLSFake(certificates, "expired")).failure
    expect(expired?.reason, equals: "certificate has expired")
    let unknown = try get(TLSFake(certificates, "good"), authority: "other").failure
    expect(unknown?.reason, equals: "unable to get local issuer certificate")
  }

  /// The check of a configuration judges a file of authorities as libcurl does.
  @Test(arguments: [
    "cat ca other", "cat ca torn", "cat torn ca", "head -n 3 other; cat ca",
    "cat ca; head -n 3 other",
    "sed 's/$/\\r/' ca", "tr '\\n' '\\r' <ca", "sed 's/^/  /' ca", "sed 's/$/ /' ca",
    "echo text; cat ca; echo more; cat other", "printf '\\357\\273\\277'; cat ca", "cat ca key",
    "cat torn-key ca", "sed 's/CERTIFICATE/TRUSTED &/' other; cat ca",
    "sed 's/CERTIFICATE/OTHER/;2s/...../&!/' other; cat ca", "tr '\\n' '\\r' <other; echo; cat ca",
  ])
  func `a file of authorities counts for libcurl as for the check`(_ command: String) throws {
    let folder = try TemporaryFolder()
    let script = """
      set -eu; cd "$0"; cp "$1" ca; cp "$2" other; cp "$3" key
      sed '2s/...../&!/' other >torn; sed '2s/...../&!/' key >torn-key; { \(command); } >made
      """
    let shell = try Process.run(
      URL(filePath: "/bin/sh"),
      arguments: ["-c", script, folder.path] + ["ca", "other", "good-key"].map(certificates.path))
    shell.waitUntilExit()
    expect(shell.terminationStatus, equals: 0)
    let content = try Data(contentsOf: URL(filePath: "\(folder.path)/made"))
    let fault = FileContent.authorities.fault(in: Secret(Array(content)))
    let made = "\(folder.path)/made"
    let fake = try TLSFake(certificates, "good")
    let reply = try ClientFixture().send(HTTPRequest(method: .get, url: fake.url)) {
      $0.caFile = made
    }
    withExtendedLifetime(fake) {}
    expect(reply.failure?.kind == .ownFile, equals: fault != nil, "\(reply) \(fault ?? "good")")
  }
}
