import TestSupport
import Testing

@testable import CredCore

/// IdentityIds across a reboot.
struct IdentityFileFormatTests {
  let fixtures = Fixtures()

  private func known(
    _ story: SnapshotStory, owner: SessionOwner = .named("alice"), lines: String = ""
  ) throws -> KnownIdentity? {
    KnownIdentity(
      uid: 1000, owner: owner, profile: try fullProfile(lines),
      snapshot: story.session.machine.snapshot)
  }

  @Test func aUsersLineHasAllFields() throws {
    let known = try #require(try known(.byPassword))
    expect(
      String(decoding: known.line, as: UTF8.self),
      equals: "1000\tp\talice\t\(examplePool)\t\t{user}\t\(fixtures.identity)\tuser")
    expect(KnownIdentity(line: known.line[...]), equals: known)
  }

  private static let owners: [SessionOwner] =
    ["a\tb", "a\nb", "100%", "grün", "a:b"].map { .named($0) } + [.nameless, .unknown]

  @Test(arguments: owners)
  func anyOwnerIsReadBack(_ owner: SessionOwner) throws {
    let known = try #require(try known(.guest, owner: owner))
    expect(!known.line.contains(UInt8(ascii: "\n")))
    let read = try #require(KnownIdentity(line: known.line[...]))
    expect(read.owner, equals: owner)
    expect(read.isGuests)
  }

  @Test func aClientsTokenAndALogoutLeaveNoIdentity() throws {
    expect(try known(.byToken) == nil)
    expect(try known(.signedOut) == nil)
  }

  @Test func anIdentityBelongsToOneUserInOnePool() throws {
    let known = try #require(try known(.byPassword))
    let alice = SessionOwner.named("alice")
    expect(known.belongs(to: alice, in: try fullProfile()))
    expect(known.belongs(to: alice, in: try fullProfile("fips = yes\n")))
    expect(!known.belongs(to: .named("bob"), in: try fullProfile()))
    expect(!known.belongs(to: .nameless, in: try fullProfile()))
    expect(!known.belongs(to: alice, in: try fullProfile("user_identifier = {uid}\n")))
  }

  @Test func anIdentityOfAUidWithoutANameBelongsToNoUserWithOne() throws {
    let known = try #require(try known(.byPassword, owner: .nameless))
    expect(known.belongs(to: .nameless, in: try fullProfile()))
    expect(!known.belongs(to: .named("alice"), in: try fullProfile()))
  }

  /// Earlier versions looked up a name only where the profile needed one.
  @Test func ofAnEarlierVersionOnlyAGuestIsTakenForTheFirstUser() throws {
    let guest = try #require(try known(.guest, owner: .unknown))
    expect(guest.belongs(to: .named("alice"), in: try fullProfile("guest = yes\n")))
    let user = try #require(try known(.byPassword, owner: .unknown))
    expect(!user.belongs(to: .named("alice"), in: try fullProfile()))
  }

  @Test func aSignInTakesOverAGuestsIdentity() {
    var session = SessionDriver(
      machine: SessionMachine(
        plan: SessionPlan(backend: .password, allowsGuests: true), identityID: fixtures.identity,
        isGuests: true, now: .seconds(1000)))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(
      session.calls.last,
      equals: fixtures.callback(fixtures.identity, session: fixtures.session("alice"))
    )
  }

  @Test func aSignInDoesNotTakeOverAUsersIdentity() {
    var session = SessionDriver(
      machine: SessionMachine(
        plan: SessionPlan(backend: .password), identityID: fixtures.identity, isGuests: false,
        now: .seconds(1000)))
    session.login(fixtures.password("alice"))
    session.finish(fixtures.accepted("alice"))
    expect(session.calls.last, equals: fixtures.callback(session: fixtures.session("alice")))
  }

  @Test func aBackendIsToldTheKnownIdentityOfItsUser() {
    var session = SessionDriver(
      machine: SessionMachine(
        plan: SessionPlan(backend: .host), identityID: fixtures.identity, isGuests: false,
        now: .seconds(1000)))
    session.ask()
    expect(session.calls, equals: [fixtures.callback(fixtures.identity)])
  }

  @Test func aGuestDoesNotGetAUsersIdentity() {
    let plan = SessionPlan(backend: .none, allowsGuests: true)
    let machine = SessionMachine(
      plan: plan, identityID: fixtures.identity, isGuests: false, now: .seconds(1000))
    expect(machine.identityID == nil)
    let guest = SessionMachine(
      plan: SessionPlan(backend: .host), identityID: fixtures.identity, isGuests: true,
      now: .seconds(1000))
    expect(guest.identityID == nil)
    expect(guest.state, equals: .signedOut(byUser: false))
  }

  // MARK: The file

  private func lines(_ count: Int) throws -> [[UInt8]] {
    let known = try #require(try known(.byPassword))
    return (0..<count).map { Array("\($0)".utf8) + known.line.dropFirst(4) }
  }

  @Test func fileIsReadBack() throws {
    let text = IdentityFileText.write(try lines(3))
    let content = IdentityFileText.read(text)
    expect(content.identities.map(\.uid), equals: [0, 1, 2])
    expect(content.damage == nil)
    expect(IdentityFileText.read(IdentityFileText.write([[UInt8]]())).damage == nil)
  }

  @Test func aBadLineIsDroppedAlone() throws {
    var lines = try lines(3)
    lines[1] = Array("what is this".utf8)
    let content = IdentityFileText.read(IdentityFileText.write(lines))
    expect(content.identities.map(\.uid), equals: [0, 2])
    expect(content.damage, equals: "line 3 is not understood")
  }

  @Test func aTruncatedFileIsNoticed() throws {
    let text = IdentityFileText.write(try lines(2))
    for count in 0..<(text.count - 1) {
      expect(IdentityFileText.read(Array(text.prefix(count))).damage != nil)
    }
  }

  @Test func otherFilesAreRefused() {
    for text in ["", "credd-identities 2\nend 0\n", "\u{0}\u{0}\u{0}", "end 0\n"] {
      let content = IdentityFileText.read(Array(text.utf8))
      expect(content.damage != nil)
      expect(content.identities.isEmpty)
    }
  }

  @Test func flippedBitsDoNoHarm() throws {
    let text = IdentityFileText.write(try lines(2))
    for index in text.indices {
      for bit in 0..<8 {
        var bytes = text
        bytes[index] ^= 1 << bit
        expect(IdentityFileText.read(bytes).identities.count <= 3)
      }
    }
  }
}
