import CredCore

/// Whom a token, an identity or credentials belong to: a number that all that is simulated carries,
/// and by which a mix-up is found.
///
/// The Unix user of a session may be another one some day, and may sign in as several persons.
struct Person: Hashable {
  /// How somebody is known.
  enum Guise: Int {
    case host = 0
    case alice, bob, developer, logins
    case guest = 7
  }

  let number: Int

  init(session: Int, generation: Int, _ guise: Guise) {
    number = session << 16 | (generation & 0xFFF) << 3 | guise.rawValue
  }

  private init(number: Int) {
    self.number = number
  }

  var session: Int { number >> 16 }

  /// Whether a backend knows them.
  var isVouchedFor: Bool {
    [Guise.host, .alice, .bob].contains { $0.rawValue == number & 7 }
  }

  static let provider = "accounts.example.com"

  /// What stands in for the secret text of a token: who it is for and when it ends.
  func sealed(until end: Instant) -> Secret {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(17)
    bytes.append(UInt8(ascii: "#"))
    for number in [UInt64(number), UInt64(bitPattern: end.nanoseconds)] {
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
      }
    }
    return Secret(bytes)
  }

  static func unsealed(_ secret: Secret) -> (person: Person, end: Instant)? {
    let bytes = secret.bytes
    guard bytes.count == 17 else { return nil }
    func number(_ range: Range<Int>) -> UInt64 {
      bytes[range].reduce(0) { $0 << 8 | UInt64($1) }
    }
    return (
      Person(number: Int(number(1..<9))),
      Instant(nanoseconds: Int64(bitPattern: number(9..<17)))
    )
  }

  /// The identity's id, which says whose it is.
  var identity: IdentityID {
    let digits = String(number, radix: 16)
    let text = "us-east-1:" + String(repeating: "0", count: 16 - digits.utf8.count) + digits
    guard let identity = try? IdentityID(text) else { preconditionFailure("\(text) is no id") }
    return identity
  }

  static func of(_ identity: IdentityID) -> Person? {
    Int(identity.description.dropFirst(10), radix: 16).map(Person.init(number:))
  }
}
