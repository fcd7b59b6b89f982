import SeededRandom
import TestSupport

@testable import DaemonHarness

/// The people, pools and names of one row: all of them random, so that nothing is right by chance.
struct RowCast {
  struct Person: Hashable {
    let name: String
    let uid: UInt32
    /// Opens the names under which others know the person.
    let subject: String
  }

  /// A profile and its pool.
  struct Place {
    let profile: String
    let pool: String
    let provider: String
    let authenticatedRole: String
    let guestRole: String
    let customRole: String
  }

  /// A Cognito user pool, its app client, and how sign-ins begin there.
  struct UserPool {
    let id: String
    let client: String
    let flow: String

    /// Its key in the logins map.
    var provider: String {
      let region = id.prefix { $0 != "_" }
      return "cognito-idp.\(region).amazonaws.com/\(id)"
    }
  }

  /// Whose sessions the row is about.
  let subject: Person
  /// Who has the subject's uid later on, under another name.
  let successor: Person
  /// Another user of the same profiles.
  let bystander: Person
  /// A user whom the row's access rule leaves out.
  let outsider: Person
  /// Who may act for others, where the rule says so.
  let actor: Person
  let group: (name: String, gid: UInt32)
  let unit: String
  /// An identifier in which no user is named.
  let sharedIdentifier: String
  /// The profile that the row configures, and another one with the same backend.
  let first: Place
  let second: Place
  let userPool: UserPool
  /// Turns of the story that are no columns.
  let coins: [Bool]

  init(_ random: inout SeededGenerator) {
    var uids: Set<UInt32> = []
    while uids.count < 6 { uids.insert(UInt32.random(in: 20_000...59_999, using: &random)) }
    let numbers = uids.sorted().shuffled(using: &random)
    func person(_ uid: UInt32) -> Person {
      Person(name: random.userName(), uid: uid, subject: random.word(8))
    }
    subject = person(numbers[0])
    successor = person(numbers[0])
    bystander = person(numbers[1])
    outsider = person(numbers[2])
    actor = person(numbers[3])
    group = (random.word(7), numbers[4])
    unit = "credd-\(random.word(10)).service"
    sharedIdentifier = random.word(9)
    (first, second) = (Place(&random), Place(&random))
    userPool = UserPool(
      id: "us-east-1_\(random.word(9))", client: "1\(random.word(24))",
      flow: ["srp", "password", "choice"].randomElement(using: &random) ?? "")
    coins = (0..<8).map { _ in Bool.random(using: &random) }
  }
}

extension RowCast.Place {
  /// A profile with the pool of another one.
  init(profile: String, withPoolOf other: RowCast.Place) {
    self.init(
      profile: profile, pool: other.pool, provider: other.provider,
      authenticatedRole: other.authenticatedRole, guestRole: other.guestRole,
      customRole: other.customRole)
  }

  init(_ random: inout SeededGenerator) {
    profile = random.word(6)
    let region = ["us-east-1", "eu-west-1", "ap-south-2"].randomElement(using: &random) ?? ""
    pool = "\(region):\(random.uuid())"
    provider = "login.\(random.word(6)).example"
    let account = UInt64.random(in: 100_000_000_000...999_999_999_999, using: &random)
    func role(_ kind: String) -> String {
      "arn:aws:iam::\(account):role/\(kind)-\(random.word(5))"
    }
    (authenticatedRole, guestRole, customRole) = (role("user"), role("guest"), role("custom"))
  }
}

extension SeededGenerator {
  /// Small letters.
  mutating func word(_ length: Int) -> String {
    String((0..<length).map { _ in "bcdfghjkmnpqrstvwxz".randomElement(using: &self) ?? "x" })
  }

  /// With a character that URLs and identifiers might take for one of their own.
  mutating func userName() -> String {
    word(5) + (["", ".", "-", "_"].randomElement(using: &self) ?? "") + word(3)
  }

  mutating func uuid() -> String {
    let digits = (0..<32).map { _ in "0123456789abcdef".randomElement(using: &self) ?? "0" }
    let groups = [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]]
    return groups.map { String($0) }.joined(separator: "-")
  }
}
