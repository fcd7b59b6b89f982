import ArgumentParser
import AuthCore
import AuthStore

struct HostCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "host", abstract: "Enrol hosts, and say for whom they speak.",
    subcommands: [Enrol.self, List.self, Rotate.self, Revoke.self])

  struct Enrol: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Enrol a host, and print its token once.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String
    @Option(help: "A pool of the configuration; may be given again.") var pool: [String]
    @Option(help: "Users for whom the host's word counts: names, *, ?, {host}.")
    var vouches: [String] = []
    @Option(help: "Users who may sign in on the host, in the same form.")
    var signsIn: [String] = []
    @Flag(help: "Its users may link logins of other providers.") var mayLink = false
    @Flag(help: "A guest's identity may become its user's.") var mayAdoptGuests = false
    @Option(help: "When the enrolment ends, as 90d; never where it is 0.") var expires = "90d"
    @Option(help: "This server's address, for the lines that are printed.") var url: String?

    func run() async throws {
      try await common.withStore { store, settings in
        let now = Timestamp.now
        let host = try enrolment(settings, now)
        if settings.sharedNames { try await checkNames(host, store) }
        var random = SystemRandomNumberGenerator()
        let token = Ticket(.host, random: &random)
        let trail = common.trail("hostEnrolled", members(host))
        do { try await store.enrol(host, token: token, trail: trail) } catch StoreError.conflict {
          throw Failed("\(name) is enrolled already: 'host rotate' gives it another token")
        }
        let hints = HostHints(host: host, token: token.text, settings: settings, url: url)
        try common.say(hints.text, hints.members)
      }
    }

    private func enrolment(
      _ settings: AuthCore.Configuration, _ now: Timestamp
    ) throws -> Enrolment {
      let known = settings.pools.keys.sorted().joined(separator: ", ")
      for pool in pool where settings.pools[pool] == nil {
        throw Failed("there is no [pool \(pool)]; there is \(known)")
      }
      guard let lifetime = Interval(expires) else { throw Failed("--expires is not as 90d") }
      do {
        try Enrolment.checkName(name)
        let vouches = try Patterns(vouches.joined(separator: " "))
        let signsIn = try Patterns(signsIn.joined(separator: " "))
        guard !vouches.isEmpty || !signsIn.isEmpty else {
          throw Failed("for whom? --vouches USERS, --signs-in USERS, or both")
        }
        return Enrolment(
          name: name, vouches: vouches, signsIn: signsIn, pools: pool, mayLink: mayLink,
          mayAdoptGuests: mayAdoptGuests,
          expires: lifetime.milliseconds == 0 ? nil : now + lifetime, created: now)
      } catch let error as InvalidName {
        throw Failed("a name or pattern \(error.reason)")
      }
    }

    /// With shared names, a host must not come to speak for somebody who has registered here.
    private func checkNames(_ host: Enrolment, _ store: AuthStore) async throws {
      let users = try await store.users().filter { $0.kind == .account }
      let met = users.first { user in
        guard let name = (try? Identifier(user.identifier))?.name else { return false }
        return host.vouches.cover(name, host: host.name, folded: true)
      }
      guard let met else { return }
      throw Failed(
        "--vouches covers the account \(met.identifier), and shared_names = yes: the host would "
          + "speak for that person")
    }

    private func members(_ host: Enrolment) -> [String: String] {
      [
        "host": host.name, "vouches": host.vouches.text, "signsIn": host.signsIn.text,
        "pools": host.pools.joined(separator: " "), "mayLink": String(host.mayLink),
        "mayAdoptGuests": String(host.mayAdoptGuests), "expires": host.expires?.iso8601 ?? "never",
      ]
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the hosts.")
    @OptionGroup var common: Common

    func run() async throws {
      try await common.withStore { store, _ in
        let now = Timestamp.now
        let rows = try await store.hosts().map { host in
          [
            host.name,
            host.revoked != nil ? "revoked" : host.isValid(at: now) ? "enrolled" : "expired",
            host.pools.joined(separator: " "), host.vouches.isEmpty ? "-" : host.vouches.text,
            host.signsIn.isEmpty ? "-" : host.signsIn.text,
            [host.mayLink ? "link" : nil, host.mayAdoptGuests ? "adopt-guests" : nil]
              .compactMap { $0 }.joined(separator: " "),
            host.expires?.iso8601 ?? "never",
          ]
        }
        try common.show(["name", "state", "pools", "vouches", "signs-in", "may", "expires"], rows)
      }
    }
  }

  struct Rotate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Give a host a second token; the first lives on for a while.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String
    @Option(help: "How long the first token lives on, as 24h.") var overlap = "24h"
    @Option(help: "When the enrolment ends now, as 90d; never where it is 0.") var expires = "90d"

    func run() async throws {
      guard let overlap = Interval(overlap), let lifetime = Interval(expires) else {
        throw Failed("--overlap and --expires are as 24h or 90d")
      }
      try await common.withStore { store, _ in
        let now = Timestamp.now
        var random = SystemRandomNumberGenerator()
        let token = Ticket(.host, random: &random)
        let end = lifetime.milliseconds == 0 ? nil : now + lifetime
        guard
          try await store.rotate(
            host: name, token: token, earlierUntil: now + overlap, expires: end, now: now,
            trail: common.trail("hostRotated", ["host": name]))
        else { throw Failed("no host \(name) is enrolled") }
        try common.say(
          "The new token of \(name), shown this once:\n\(token.text)\n"
            + "The earlier one is good until \((now + overlap).iso8601).",
          ["host": name, "token": token.text, "earlierUntil": (now + overlap).iso8601])
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take a host's tokens and its users' sign-ins away.")
    @OptionGroup var common: Common
    @Argument(help: "The host's name.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let trail = common.trail("hostRevoked", ["host": name])
        guard try await store.revoke(host: name, now: .now, trail: trail) else {
          throw Failed("no host \(name) is enrolled")
        }
        try common.say("\(name) is revoked", ["host": name, "state": "revoked"])
      }
    }
  }
}

/// What to put on an enrolled host.
struct HostHints {
  let host: Enrolment
  let token: String
  let settings: AuthCore.Configuration
  let url: String?

  private var base: String {
    if let url { return url.hasSuffix("/") ? String(url.dropLast()) : url }
    let scheme = settings.tlsCertificate == nil ? "http" : "https"
    switch settings.listen {
    case .network(let address, let port) where address.contains("127.") || address == "::1":
      return "\(scheme)://127.0.0.1:\(port)"
    case .network(_, let port): return "https://\(Common.hostName):\(port)"
    case .unixSocket, .systemd: return "https://\(Common.hostName)"
    }
  }

  /// Two backends where the host has both rights: credd asks for a sign-in wherever there is a
  /// login_url.
  private var lines: [String] {
    var lines: [String] = []
    if !host.vouches.isEmpty { lines += backend("authserver", signsIn: false) }
    if !host.signsIn.isEmpty { lines += backend("authserver-login", signsIn: true) }
    for pool in host.pools.compactMap({ settings.pools[$0] }) {
      if !host.vouches.isEmpty { lines += profile(pool.name, pool, "authserver") }
      if !host.signsIn.isEmpty {
        let name = host.vouches.isEmpty ? pool.name : pool.name + "-login"
        lines += profile(name, pool, "authserver-login")
      }
    }
    return lines
  }

  private func backend(_ name: String, signsIn: Bool) -> [String] {
    var lines = [
      "[backend \(name)]", "type = http", "url = \(base)/v1/token",
      "bearer_token_file = ${CREDENTIALS_DIRECTORY}/authserver-token",
    ]
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

  var members: [String: String] {
    ["host": host.name, "token": token, "configuration": lines.joined(separator: "\n")]
  }

  var text: String {
    let warning =
      host.vouches.coverEverybody
      ? "\nIts word counts for EVERY name: who is root on \(host.name) is anybody to AWS.\n" : ""
    return """
      \(host.name) is enrolled, \(host.expires.map { "until \($0.iso8601)" } ?? "without an end").\(warning)

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
