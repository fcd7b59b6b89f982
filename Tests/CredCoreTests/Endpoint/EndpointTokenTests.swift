import CredCore
import SeededRandom
import TestSupport
import Testing

struct EndpointTokenTests {
  private let crypto = TestCrypto()
  private let noon = WallTime(milliseconds: 1_714_979_289_999)

  private func key(_ byte: UInt8 = 1) throws -> TokenKey {
    try #require(TokenKey(Secret([UInt8](repeating: byte, count: 32)), crypto))
  }

  private func token(_ owner: TokenOwner, for profile: String = "work") throws -> EndpointToken {
    var random = SeededGenerator(seed: 1)
    return try key().token(of: owner, for: profile, at: noon, &random, crypto)
  }

  private func check(
    _ token: EndpointToken, uid: UInt32 = 1000, unit: String? = nil, for profile: String = "work"
  ) throws -> TokenKey.Verdict {
    try key().check(token, ofUser: uid, unit: unit, for: profile, crypto)
  }

  @Test func aUsersTokenOpensForThatUserAlone() throws {
    let token = try token(.user(1000))
    expect(try check(token), equals: .opens)
    expect(try check(token, unit: "a.service"), equals: .opens)
    expect(try check(token, uid: 1001), equals: .notTheirs)
    expect(try check(token, uid: 0), equals: .notTheirs)
    expect(try check(token, for: "other"), equals: .notTheirs)
  }

  @Test func aUnitsTokenOpensForThatUnitAlone() throws {
    let token = try token(.unit("billing.service"))
    expect(try check(token, unit: "billing.service"), equals: .opens)
    expect(try check(token, uid: 0, unit: "billing.service"), equals: .opens)
    expect(try check(token, unit: "other.service"), equals: .notTheirs)
    expect(try check(token, unit: "user@1000.service/billing.service"), equals: .notTheirs)
    expect(try check(token), equals: .notTheirs)
    expect(try check(token, unit: "billing.service", for: "other"), equals: .notTheirs)
  }

  @Test func aUnitThatIsCalledLikeAUidIsNoUser() throws {
    let user = try token(.user(1000)).text.bytes
    var bytes = user
    bytes[7] = UInt8(ascii: "s")
    let turned = try #require(EndpointToken(Secret(bytes)))
    expect(try check(turned, unit: "1000"), equals: .notTheirs)
  }

  @Test func aTokenIsReadAsItWasWritten() throws {
    let token = try token(.unit("billing.service"))
    let text = token.text
    expect(EndpointToken(text)?.text, equals: text)
    expect(text.count < Limits.Endpoint.tokenBytes)
    expect(text.bytes.allSatisfy { $0.isLetterOrDigit || "._-".utf8.contains($0) })
    expect(text.bytes.starts(with: "credd1.s.".utf8))
    expect("\(token)", equals: "<secret>")
  }

  @Test func everyChangedByteIsRefused() throws {
    let bytes = try token(.user(1000)).text.bytes
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      guard let token = EndpointToken(Secret(changed)) else { continue }
      expect(try check(token) != .opens, "byte \(index)")
    }
    expect(EndpointToken(Secret(bytes + [UInt8(ascii: "\n")])) == nil)
    expect(EndpointToken(Secret(Array(bytes.dropLast()))) == nil)
    expect(EndpointToken(Secret("")) == nil)
    expect(EndpointToken(Secret([UInt8](repeating: 0x2E, count: 4096))) == nil)
  }

  @Test func aTokenOfAnotherKeyIsKnownAsSuch() throws {
    let token = try token(.user(1000))
    let verdict = try key(2).check(token, ofUser: 1000, unit: nil, for: "work", crypto)
    expect(verdict, equals: .ofAnotherKey)
  }

  @Test func aKeyHas32Bytes() {
    expect(TokenKey(Secret([UInt8](repeating: 1, count: 31)), crypto) == nil)
    expect(TokenKey(Secret([UInt8](repeating: 1, count: 33)), crypto) == nil)
  }

  @Test func twoTokensDiffer() throws {
    var random = SeededGenerator(seed: 1)
    let one = try key().token(of: .user(1), for: "a", at: noon, &random, crypto)
    let other = try key().token(of: .user(1), for: "a", at: noon, &random, crypto)
    expect(one.text != other.text)
  }
}

struct TokenGrantTests {
  private func grant(
    _ name: String, uid: UInt32 = 0, unit: String? = "billing.service", isUnmapped: Bool = false
  ) -> TokenGrant {
    TokenGrant(uid: uid, isUnmapped: isUnmapped, address: Array(name.utf8), unit: unit)
  }

  private func isRefused(_ grant: TokenGrant) -> Bool {
    if case .refused = grant { true } else { false }
  }

  private static let name = "\0fea1f2/unit/billing.service/credd.work"

  @Test func rootGetsATokenForTheUnitThatItIsInAndNames() {
    expect(grant(Self.name), equals: .token(.unit("billing.service"), profile: "work"))
    expect(isRefused(grant(Self.name, unit: "other.service")))
    expect(isRefused(grant(Self.name, unit: nil)))
    expect(isRefused(grant(Self.name, unit: "user@0.service/billing.service")))
  }

  @Test func anyOtherUserGetsATokenOfThatUser() {
    expect(
      grant(Self.name, uid: 1717, unit: nil), equals: .token(.user(1717), profile: "work"))
    expect(
      grant(Self.name, uid: 1717, unit: "x.service"), equals: .token(.user(1717), profile: "work"))
  }

  @Test func theOverflowUidGetsNone() {
    expect(isRefused(grant(Self.name, uid: 65534, isUnmapped: true)))
  }

  @Test(arguments: [
    "", "\0", "/run/x.sock", "\0fea1f2/unit/billing.service", "\0/unit/billing.service/credd.work",
    "\0fea1f2/unit/billing.service/aws-token", "\0fea1f2/unit/billing.service/credd.",
    "\0fea1f2/unit/billing.service/credd.a b", "\0fea1f2/user/billing.service/credd.work",
    "\0fea1f2/unit/billing/credd.work", "\0fea1f2/unit/billing.service/credd.work/x",
    "\0fea1f2fea1f2fea1f2/unit/billing.service/credd.work", "\0xyz/unit/billing.service/credd.work",
  ])
  func otherNamesGetNone(_ name: String) {
    expect(isRefused(grant(name)))
    expect(isRefused(grant(name, uid: 1717)))
  }

  @Test func instancesStayEscaped() {
    let question = CredentialQuestion(Array("\01/unit/job@a-b\\x2fc.service/credd.work".utf8))
    expect(question?.unit, equals: "job@a-b\\x2fc.service")
    expect(question?.profile, equals: "work")
  }
}
