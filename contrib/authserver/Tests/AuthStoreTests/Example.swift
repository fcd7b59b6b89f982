import AuthCore
import AuthStore
import AuthTestSupport
import Foundation

/// What the tests of the store have in common.
enum Example {
  static let now = Timestamp(milliseconds: 1_700_000_000_000)

  static func ticket(_ kind: Ticket.Kind) -> Ticket {
    var random = SystemRandomNumberGenerator()
    return Ticket(kind, random: &random)
  }

  static func host(_ name: String = "web1", vouches: String = "*") throws -> Enrolment {
    Enrolment(
      name: name,
      rights: HostRights(
        vouches: try Patterns(vouches), signsIn: try Patterns("zoe"), pools: ["work"],
        mayLink: true),
      expires: now + .days(90), created: now)
  }

  static func certificate(_ name: String, from start: Timestamp = now) -> ClientCertificate {
    ClientCertificate(name: name, notBefore: start, serial: "0a", fingerprint: "0b")
  }

  /// A sign-in of the account `zoe` on that host.
  static func session(
    _ ticket: Ticket, until expires: Timestamp = now + .hours(12)
  ) -> SignInSession {
    SignInSession(
      id: ticket.id, hash: ticket.hash, host: "web1", identifier: "account:zoe", provider: "dev",
      created: now, expires: expires)
  }

  /// As somebody with the database's own tool would do it.
  @discardableResult
  static func run(
    _ statement: String, _ place: AuthCore.Configuration.Database
  ) throws -> String {
    let output =
      switch place {
      case .sqlite(let path): try Command.run("/usr/bin/sqlite3", [path, statement])
      case .postgres(let url):
        try Command.run("/usr/bin/psql", ["-v", "ON_ERROR_STOP=1", "-Atc", statement, url])
      }
    return output.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

extension AuthStore {
  /// An account `zoe` with the password's hash `h`.
  @discardableResult
  func registerZoe() async throws -> Identifier {
    let user = try Identifier(registering: "zoe", as: .account)
    _ = try await register(
      user, password: "h", invitation: nil, avoidsEnrolments: false, now: Example.now)
    return user
  }
}
