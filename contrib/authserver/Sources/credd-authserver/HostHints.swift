import ArgumentParser
import AuthCore
import CredCore

/// What to put on an enrolled host.
struct HostHints {
  let host: Enrolment
  let token: String
  let settings: AuthCore.Configuration
  /// It was enrolled before, and revoked.
  let isAnew: Bool
  let url: String?
  /// On the host.
  let caFile: String?

  static func readURL(_ text: String) throws -> String {
    let url: HTTPURL
    do { url = try HTTPURL(text) } catch { throw ValidationError(error.message) }
    guard url.isEncrypted || url.isLoopback else {
      throw ValidationError("tokens go over https://; http:// is for this host's own addresses")
    }
    guard !text.contains("?") else { throw ValidationError("/v1/token goes behind it: no '?'") }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// credd must read the line as it was meant, and quotes and variables mean something to credd.
  static func readPath(_ text: String) throws -> String {
    let line = ConfigurationSource(name: "", bytes: Array("[host]\nca_file = \(text)\n".utf8))
    let files = INIFiles([line])
    guard text.hasPrefix("/"), !text.contains("${"), text.visible == text,
      files.diagnostics.isEmpty, (try? files.sections.first?["ca_file"]?.text()) == text
    else { throw ValidationError("it is the file's path on the host, from the root") }
    return text
  }

  private var base: String {
    if let url { return url }
    let scheme = settings.tlsCertificate == nil ? "http" : "https"
    switch settings.listen {
    case .network(let address, let port) where HTTPURL.isLoopback(host: address):
      let name = address.contains(":") ? "[\(address)]" : address
      return "\(scheme)://\(name):\(port)"
    case .network(_, let port): return "https://\(Common.hostName):\(port)"
    case .unixSocket, .systemd: return "https://\(Common.hostName)"
    }
  }

  private var vouches: Bool { host.allRights.contains { !$0.vouches.isEmpty } }
  private var signsIn: Bool { host.allRights.contains { !$0.signsIn.isEmpty } }

  /// If the host has both rights, it needs two backends: credd asks for a sign-in wherever there is
  /// a login_url.
  private var lines: [String] {
    var lines: [String] = []
    if vouches { lines += backend("authserver", signsIn: false) }
    if signsIn { lines += backend("authserver-login", signsIn: true) }
    for pool in host.pools.compactMap({ settings.pools[$0] }) {
      let rights = host.allRights.filter { $0.pools.contains(pool.name) }
      let vouches = rights.contains { !$0.vouches.isEmpty }
      if vouches { lines += profile(pool.name, pool, "authserver") }
      if rights.contains(where: { !$0.signsIn.isEmpty }) {
        lines += profile(vouches ? pool.name + "-login" : pool.name, pool, "authserver-login")
      }
    }
    return lines
  }

  private func backend(_ name: String, signsIn: Bool) -> [String] {
    var lines = [
      "[backend \(name)]", "type = http", "url = \(base)/v1/token",
      "bearer_token_file = ${CREDENTIALS_DIRECTORY}/authserver-token",
    ]
    if base.hasPrefix("https:") {
      lines.append(
        caFile.map { "ca_file = \($0)" }
          ?? "; ca_file = FILE, if the server's certificate is of an authority of your own")
    }
    if signsIn {
      lines += ["login_url = \(base)/v1/login", "logout_url = \(base)/v1/logout"]
      if settings.registration != .closed { lines.append("register_url = \(base)/v1/register") }
    }
    return lines + [""]
  }

  private func profile(
    _ name: String, _ pool: AuthCore.Configuration.Pool, _ backend: String
  ) -> [String] {
    [
      "[profile \(name)]", "identity_pool_id = \(pool.identityPoolID)",
      "developer_provider = \(pool.developerProvider)", "backend = \(backend)", "",
    ]
  }

  var members: [String: Cell] {
    [
      "host": .text(host.name), "token": .text(token), "expires": .end(host.expires),
      "configuration": .text(lines.joined(separator: "\n")),
    ]
  }

  var text: String {
    let warning =
      host.allRights.contains(where: \.vouches.coverEverybody)
      ? "\nIts word counts for EVERY name: who is root on \(host.name) is anybody to AWS.\n" : ""
    let certificate =
      isAnew && settings.clientCAFile != nil
      ? "\nCertificates of \(host.name) from before now are not accepted: make its new one now.\n"
      : ""
    return """
      \(host.name) is enrolled, \(host.expires.map { "until \($0.iso8601)" } ?? "without an end").\(warning)\(certificate)

      1. Its token, shown this once. Run this as root on the host, paste the token, then Ctrl-D:

      (umask 077; cat >/etc/credd/authserver-token)

      \(token)

      2. /etc/systemd/system/credd.service.d/authserver.conf:

      [Service]
      LoadCredential=authserver-token:/etc/credd/authserver-token

      3. /etc/credd/credd.conf.d/authserver.conf:

      \(lines.joined(separator: "\n"))
      Then: systemctl daemon-reload && systemctl restart credd && credctl check \(host.pools.first ?? "")
      """
  }
}
