import CredCore

/// What the simulation knows to be true of a session, whatever the service says.
struct ExpectedSession {
  let index: Int
  let profile: SimulatedProfile
  /// Apps ask about as often as this.
  let gap: Double
  /// How long its credentials last.
  let lifetime: Double
  /// Counts the people to whom the uid was given, as far as the service can know.
  var generation = 0
  /// Whose credentials may be answered.
  var allowed: [Owner] = []
  /// Whose may be answered once a login has succeeded, by the request that brought it.
  var pending: [(request: UInt64, owners: [Owner])] = []
  /// The user signed out, and did not sign in since.
  var isSignedOut = false
  /// Until when credentials that were answered must be answered again.
  var heldUntil = Instant(nanoseconds: .min)
  /// Requests under way that may take credentials away, or a call's place.
  var wishes = 0
  /// Of those, sign-outs.
  var signOuts = 0
  /// Counts what would make a sign-out's answer say nothing any more.
  var changes = 0
  /// The uid is somebody else's, and the service has not been asked since.
  var isHandedOver = false
  /// The last answer with credentials, and what its seal says.
  var lastAnswer: (reply: [UInt8], seal: Seal)?
  /// The call under way.
  var flight: (call: Int, generation: Int)?
  /// Since the hour began.
  var callsInHour = 0
  var requestsInHour = 0
  var finallySignedIn = false

  init(_ index: Int, _ profile: SimulatedProfile, _ random: inout SeededGenerator) {
    self.index = index
    self.profile = profile
    gap = random.pick([20, 120, 600, 600, 3000, 10_000])
    let usual: Double = random.pick([90, 900, 1800, 3600, 3600, 3600, 43_200])
    lifetime = profile.isBasic ? Double(profile.duration) : usual
    allowed = unattended
  }

  var user: Int { SimulatedUsers.user(ofSession: index) }

  /// The file's account stays the same, whoever has the uid.
  func owner(_ kind: Owner.Kind) -> Owner {
    let isFiles = profile.hasTokenFile && kind == .logins
    return Owner(session: index, generation: isFiles ? 0 : generation, kind)
  }

  /// Who needs nobody to sign in.
  var unattended: [Owner] { [owner(.host), owner(.logins), .anyGuest] }

  /// The most calls that an hour of this session can explain: refreshes, what users did, and
  /// back-off, each with a chain of calls and their remedies.
  var mostCallsInHour: Int {
    let refreshes = Int(3600 / (0.19 * min(lifetime, 90))) + 1
    return 8 * (refreshes + requestsInHour + 60)
  }
}
