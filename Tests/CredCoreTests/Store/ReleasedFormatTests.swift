import Foundation
import TestSupport
import Testing

@testable import CredCore

/// Files that the released daemon wrote, in format 1 of both. Tests/Data/Golden holds them; they are
/// never written anew. They have each tag and each value that such a file can have.
struct ReleasedFormatTests {
  private static let golden = URL(filePath: #filePath)
    .appending(path: "../../../Data/Golden").standardizedFileURL

  private static func file(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: golden.appending(path: name)))
  }

  // MARK: Sessions

  private static let boot = (0..<16).map { UInt8($0) }

  /// The records of the store of sessions, with their bytes.
  private static func records() throws -> [(record: SessionRecord, bytes: [UInt8])] {
    let file = try file("sessions-1")
    let header = try StoreHeader(reading: Array(file.prefix(StoreHeader.byteCount)), boot: boot)
    expect(header.generation, equals: 3)
    let bytes = Array(file.dropFirst(StoreHeader.byteCount))
    var records: [(record: SessionRecord, bytes: [UInt8])] = []
    var place = 0
    while case .record(let found) = StoredRecord.find(
      in: bytes, at: place, marker: header.marker, isLast: true)
    {
      let payload = bytes[found.payload]
      expect(found.sequence, equals: UInt64(records.count + 1))
      records.append((try SessionRecord(reading: payload), Array(payload)))
      place += StoredRecord.frameBytes(payload: payload.count)
    }
    expect(place, equals: bytes.count)
    return records
  }

  /// What the file holds, in its order, with the user names.
  private static func stored() throws -> [(user: String?, snapshot: SessionSnapshot)] {
    var stored: [(user: String?, snapshot: SessionSnapshot)] = SnapshotStory.allCases.map {
      ($0.rawValue, released($0))
    }
    stored += states.map { ("standing", SessionSnapshot(held: $0, lastAsked: .seconds(77))) }
    stored += failures().map { ("failure", $0) }
    stored.append((nil, try full()))
    stored.append(("sparse", sparse()))
    return stored
  }

  /// The first release kept the logins that a backend had linked, in place of whose they were.
  private static func released(_ story: SnapshotStory) -> SessionSnapshot {
    var snapshot = story.session.machine.snapshot
    guard story == .byHost, let received = snapshot.held.credentials?.received else {
      return snapshot
    }
    snapshot.held.logins = Fixtures().map([Fixtures.facebook])
    snapshot.held.endedLogins.removeAll()
    // It is told of the login's end 0.2 s before.
    let end = received + .milliseconds(4_999_800)
    snapshot.held.loginExpirations = LoginExpirations([
      Fixtures.facebook: .init(time: end, isAnnounced: false)
    ])
    return snapshot
  }

  @Test func everySessionIsReadAsItWas() throws {
    let profile = try fullProfile(
      "backend = corp\ndeveloper_provider = login.example.app\nrole_arn = \(Fixtures.role)\n",
      backend: "[backend corp]\ntype = http\nurl = https://auth.example.com/token\n")
    let (records, stored) = (try Self.records(), try Self.stored())
    expect(records.count, equals: 60)
    expect(stored.count, equals: records.count)
    for (index, (entry, expected)) in zip(records, stored).enumerated() {
      let record = entry.record
      expect(record.uid, equals: UInt32(1000 + index))
      expect(record.profile, equals: "p")
      expect(record.owner, equals: (expected.user.map { .named($0) } ?? .unknown))
      expect(record.snapshot, equals: expected.snapshot, "\(index), \(expected.user ?? "full")")
      expect(record.identityFingerprint, equals: profile.identityFingerprint)
      expect(record.credentialsFingerprint, equals: profile.credentialsFingerprint)
    }
  }

  /// Byte for byte, so that the released daemon can read what this one writes. A token's `iat` is no
  /// longer written.
  @Test func everySessionIsWrittenAsItWas() throws {
    for (record, bytes) in try Self.records() {
      expect(record.encoded, equals: try Self.withoutIssueTime(bytes[...], []), "\(record.uid)")
    }
  }

  private static func withoutIssueTime(
    _ bytes: ArraySlice<UInt8>, _ group: [UInt8]
  ) throws -> [UInt8] {
    var reader = SnapshotReader(bytes)
    var writer = SnapshotWriter()
    while let field = try reader.next() {
      let path = group + [field.tag]
      if path == [6, 5, 3] { continue }
      let isGroup = path == [6] || path == [6, 5]
      writer.field(
        field.tag, isGroup ? try withoutIssueTime(field.value, path) : Array(field.value))
    }
    return writer.bytes
  }

  @Test func everyTagIsInTheFile() throws {
    var tags: [[UInt8]: Set<UInt8>] = [:]
    /// Collects the tags of a group and of those in it.
    func collect(_ bytes: ArraySlice<UInt8>, _ group: [UInt8]) throws {
      var reader = SnapshotReader(bytes)
      while let field = try reader.next() {
        tags[group, default: []].insert(field.tag)
        if Self.groups.contains(group + [field.tag]) {
          try collect(field.value, group + [field.tag])
        }
      }
    }
    for (_, bytes) in try Self.records() { try collect(bytes[...], []) }
    expect(tags[[]], equals: [1, 2, 3, 4, 5, 6])
    expect(tags[[6]], equals: Set(1...14))
    expect(tags[[6, 1]], equals: [1, 2, 3, 4])
    expect(tags[[6, 3]], equals: [1, 2])
    expect(tags[[6, 4]], equals: [1, 2, 3])
    expect(tags[[6, 5]], equals: [1, 2, 3, 5, 6])
    expect(tags[[6, 6]], equals: Set(1...8))
    expect(tags[[6, 13]], equals: [1, 2, 3])
    expect(tags[[6, 13, 1]], equals: Set(1...8))
    expect(tags[[6, 14]], equals: [1, 2])
    expect(tags[[6, 14, 1]], equals: Set(1...8))
  }

  private static let groups: Set<[UInt8]> = [
    [6], [6, 1], [6, 3], [6, 4], [6, 5], [6, 6], [6, 13], [6, 13, 1], [6, 14], [6, 14, 1],
  ]

  // MARK: What stands in the file

  private static var states: [Held] {
    let methods: [SignInMethod] = [
      .host,
      .password(BackendSession(token: Secret("session"), developerUserIdentifier: "alice@corp")),
      .password(BackendSession(token: Secret("session"), developerUserIdentifier: nil)),
      .password(BackendSession(token: Secret([]), developerUserIdentifier: "alice@corp")),
      .developerToken, .logins, .tokenFile,
    ]
    let states: [SignInState] =
      [.signedOut(byUser: false), .signedOut(byUser: true), .guest]
      + methods.map { .signedIn($0) } + methods.map { .tokensInvalid($0) }
    return states.map { Held(state: $0) }
  }

  private static let classes: [FailureClass] = [
    .transient(retryAfter: nil), .transient(retryAfter: .seconds(40)),
    .throttled(retryAfter: nil), .throttled(retryAfter: .milliseconds(1500)), .newTokenOnce,
    .dropIdentityThenNewToken, .retryWithoutIdentity, .newIdentity, .signInRequired,
    .signInFailed, .refusedByBackend, .unknownUser, .conflict, .poolMisconfigured,
    .permanentConfiguration,
  ]
  private static let codes = [
    "InvalidRequest", "RequestTooLarge", "UnknownOperation", "UnknownProfile", "AccessDenied",
    "SignInRequired", "SignInFailed", "BackendRejected", "BackendUnavailable", "TokenRejected",
    "Throttled", "CognitoUnavailable", "IdentityConflict", "PoolMisconfigured", "Timeout",
    "TooManyRequests", "ShuttingDown", "Internal",
  ]

  private static func failures() -> [SessionSnapshot] {
    let upstreams: [Upstream] = [.cognitoIdentity, .sts, .backend("corp")]
    return (classes + classes).enumerated().map { index, failureClass in
      var failure = UpstreamFailure(
        upstream: upstreams[index % 3], failureClass: failureClass,
        code: ProtocolErrorCode(rawValue: codes[index % codes.count]) ?? .internal,
        message: "failure \(index): it fäiled",
        severity: index % 2 == 0 ? .expected : .operatorMustAct)
      failure.isWithheld = index % 5 == 0
      var held = Held(state: .signedIn(.host))
      held.backOff = BackOff(failures: index, previous: .milliseconds(1000 + 7 * index))
      if index % 4 != 3 {
        held.pause = Pause(failure, until: .seconds(200), callersFrom: .seconds(105))
      }
      var snapshot = SessionSnapshot(held: held, lastAsked: .seconds(77))
      snapshot.lastFailure = PastFailure(failure: failure, at: .seconds(Double(60 + index)))
      return snapshot
    }
  }

  /// One with everything that a session can hold.
  private static func full() throws -> SessionSnapshot {
    var held = Held(state: .signedIn(.developerToken))
    held.identityID = Fixtures().identity
    // It is read from the state: the file says nothing of it.
    held.isIdentityWithheld = true
    held.logins = try LoginsMap([
      ("accounts.google.com", Secret("google's")), ("graph.facebook.com", Secret("facebook's")),
    ])
    held.loginExpirations = LoginExpirations([
      "accounts.google.com": .init(time: .seconds(5000), isAnnounced: true),
      "graph.facebook.com": .init(time: .seconds(6000), isAnnounced: false),
      "cognito-identity.amazonaws.com": .init(time: .seconds(7000), isAnnounced: false),
    ])
    held.token = HeldToken(
      DeveloperToken(
        known: Secret("token"), expiration: WallTime(milliseconds: 1_767_226_500_000)),
      lifetime: .seconds(900), received: .seconds(300))
    held.credentials = HeldCredentials(
      Credentials(
        accessKeyID: "ASIAEXAMPLEEXAMPLE00", secretAccessKey: Secret("key"),
        sessionToken: Secret("session"), expiration: WallTime(milliseconds: 1_767_229_200_250),
        accountID: "123456789012"),
      lifetime: .milliseconds(3_599_500), received: .seconds(301), refreshAt: .seconds(2000))
    held.username = "alice"
    held.customRoleARN = Fixtures.role
    held.backOff = BackOff(failures: 3, previous: .seconds(9))
    var snapshot = SessionSnapshot(held: held, lastAsked: .seconds(901))
    snapshot.refreshCount = 12_345
    return snapshot
  }

  /// One whose token and credentials lack what they may lack.
  private static func sparse() -> SessionSnapshot {
    var held = Held(state: .signedIn(.host))
    held.token = HeldToken(
      DeveloperToken(known: Secret("opaque"), expiration: nil), lifetime: nil,
      received: .seconds(1))
    held.credentials = HeldCredentials(
      Credentials(
        accessKeyID: "ASIAEXAMPLEEXAMPLE01", secretAccessKey: Secret("key"),
        sessionToken: Secret("session"), expiration: WallTime(milliseconds: 0), accountID: nil),
      lifetime: .seconds(900), received: .seconds(1), refreshAt: .seconds(400))
    return SessionSnapshot(held: held, lastAsked: .seconds(1))
  }

  // MARK: IdentityIds

  @Test func identitiesAreReadAndWrittenAsTheyWere() throws {
    let file = try Self.file("identities-1")
    let content = IdentityFileText.read(file)
    expect(content.damage == nil)
    expect(IdentityFileText.write(content.identities.map(\.line)), equals: file)
    expect(content.identities.count, equals: 9)
    let identity = Fixtures().identity
    expect(content.identities.allSatisfy { $0.profile == "p" && $0.pool == examplePool })
    expect(content.identities.allSatisfy { $0.identityID == identity })
    let ofAlice = try #require(content.identities.first)
    expect(ofAlice.uid, equals: 1000)
    expect(ofAlice.owner, equals: .named("byHost é%\t"))
    expect(ofAlice.provider, equals: "login.example.app")
    expect(ofAlice.identifier, equals: "{user}")
    expect(!ofAlice.isGuests)
    let ofAGuest = try #require(content.identities.last)
    expect(ofAGuest.uid, equals: 0)
    expect(ofAGuest.owner, equals: .unknown)
    expect(ofAGuest.provider == nil)
    expect(ofAGuest.isGuests)
  }
}
