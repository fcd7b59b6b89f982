import Synchronization
import TestSupport
import Testing

/// What people are told: each story is told as its golden file in Tests/Data/Golden/stories says,
/// which a person has read.
struct StoryTests {
  @Test func theFirstGet() throws { try expect(.firstGet) }
  @Test func aProfileThatNobodyNamed() throws { try expect(.noName) }
  @Test func aWrongPasswordLeavesTheSession() throws { try expect(.wrongPassword) }
  @Test func aProviderThatIsAwayForAWhile() throws { try expect(.providerAway) }
  @Test func aSignInThatWasRevoked() throws { try expect(.revokedSignIn) }
  @Test func aSignInThatEndsByItself() throws { try expect(.endedSignIn) }
  @Test func aReloadWithAMistake() throws { try expect(.reloadMistake) }
  @Test func aBackendThatRefusesTheHost() throws { try expect(.refusedHost) }
  @Test func aBackendThatDoesNotKnowTheHost() throws { try expect(.unknownHost) }
  @Test func aClockThatIsOff() throws { try expect(.wrongClock) }
  @Test func aCheckOfAProfileThatTheHostVouchesFor() throws { try expect(.checkedHost) }
  @Test func aCheckWhereNobodyIsSignedIn() throws { try expect(.checkedSignIn) }
  @Test func aRegionThatDoesNotExist() throws { try expect(.wrongRegion) }
  @Test func aLimitThatIsHit() throws { try expect(.hitLimit) }
  @Test func aSocketWithACap() throws { try expect(.cappedSocket) }
  @Test func aProfileThatIsDerived() throws { try expect(.derivedProfile) }
  @Test func theMistakesOfAFirstHour() throws { try expect(.firstMistakes) }
  @Test func aRoleThatLacksTrust() throws { try expect(.missingTrust) }
  @Test func aPolicyThatDeniesARole() throws { try expect(.denyingPolicy) }

  @Test(
    .enabled(if: AlertWatch.promtool != nil, "takes Debian's prometheus"),
    arguments: StoryName.allCases)
  func theAlertsOf(story: StoryName) throws {
    let telling = try story.telling()
    try GoldenFile(name: story.rawValue).expectAlerts(telling)
  }

  @Test(.disabled(if: GoldenFile.isUpdating, "the files are being written"))
  func eachGoldenFileHasAStory() throws {
    TestSupport.expect(try GoldenFile.names(), equals: StoryName.allCases.map(\.rawValue).sorted())
  }

  private func expect(
    _ story: StoryName, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try GoldenFile(name: story.rawValue).expectText(story.telling(), location)
  }
}

/// The stories, by the names of their golden files.
enum StoryName: String, CaseIterable {
  case firstGet = "first-get"
  case noName = "no-name"
  case wrongPassword = "wrong-password"
  case providerAway = "provider-away"
  case revokedSignIn = "revoked-sign-in"
  case endedSignIn = "ended-sign-in"
  case reloadMistake = "reload-mistake"
  case refusedHost = "refused-host"
  case unknownHost = "unknown-host"
  case wrongClock = "wrong-clock"
  case checkedHost = "checked-host"
  case checkedSignIn = "checked-sign-in"
  case wrongRegion = "wrong-region"
  case hitLimit = "hit-limit"
  case cappedSocket = "capped-socket"
  case derivedProfile = "derived-profile"
  case missingTrust = "missing-trust"
  case denyingPolicy = "denying-policy"
  case firstMistakes = "first-mistakes"

  /// Each story is told once, for its text and its alerts.
  private static let tellings = Mutex<[Self: Result<Telling, any Error>]>([:])

  func telling() throws -> Telling {
    try Self.tellings.withLock { tellings in
      let result = tellings[self] ?? Result { try tell() }
      tellings[self] = result
      return try result.get()
    }
  }

  private func tell() throws -> Telling {
    switch self {
    case .firstGet: try Story.firstGet()
    case .noName: try Story.noName()
    case .wrongPassword: try Story.wrongPassword()
    case .providerAway: try Story.providerAway()
    case .revokedSignIn: try Story.revokedSignIn()
    case .endedSignIn: try Story.endedSignIn()
    case .reloadMistake: try Story.reloadMistake()
    case .refusedHost: try Story.refusedHost()
    case .unknownHost: try Story.unknownHost()
    case .wrongClock: try Story.wrongClock()
    case .checkedHost: try Story.checkedHost()
    case .checkedSignIn: try Story.checkedSignIn()
    case .wrongRegion: try Story.wrongRegion()
    case .hitLimit: try Story.hitLimit()
    case .cappedSocket: try Story.cappedSocket()
    case .derivedProfile: try Story.derivedProfile()
    case .missingTrust: try Story.missingTrust()
    case .denyingPolicy: try Story.denyingPolicy()
    case .firstMistakes: try Story.firstMistakes()
    }
  }
}
