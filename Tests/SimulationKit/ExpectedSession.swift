import CredCore

/// The simulation's own knowledge of a session, independent of the service.
struct ExpectedSession {
  let index: Int
  let profile: SimulatedProfile
  /// The mean time between two requests of apps.
  let gap: Double
  /// How long its credentials last.
  let lifetime: Double
  /// The number of the person who has the uid, as far as the service can know.
  var generation = 0
  /// Owners whose credentials may be answered.
  var allowed: [Owner] = []
  /// Further owners, allowed once their login has succeeded, by the request of the login.
  var pending: [(request: UInt64, owners: [Owner])] = []
  /// The user signed out, and did not sign in since.
  var isSignedOut = false
  /// Until this time, credentials that were answered must be answered again.
  var heldUntil = Instant(nanoseconds: .min)
  /// Requests under way that may remove credentials or replace a call.
  var wishes = 0
  /// The sign-outs among them.
  var signOuts = 0
  /// Counts changes: after a change, the answer of an earlier sign-out proves nothing.
  var changes = 0
  /// The uid belongs to another person, and the service has had no request since.
  var isHandedOver = false
  /// The last answer with credentials, and its seal.
  var lastAnswer: (reply: [UInt8], seal: Seal)?
  /// The call under way.
  var flight: (call: Int, generation: Int)?
  /// Since the hour began.
  var callsInHour = 0
  var requestsInHour = 0
  var finallySignedIn = false
  /// The service has given credentials and nothing has ended the session since: the next caller must
  /// not wait.
  var isWarm = false

  init(_ index: Int, _ profile: SimulatedProfile, _ random: inout SeededGenerator) {
    self.index = index
    self.profile = profile
    gap = random.pick([20, 120, 600, 600, 3000, 10_000])
    let usual: Double = random.pick([90, 900, 1800, 3600, 3600, 3600, 43_200])
    lifetime = profile.isBasic ? Double(profile.duration) : usual
    allowed = unattended
  }

  var user: Int { SimulatedUsers.user(ofSession: index) }

  /// The account of a token file stays the same when the uid is given to another person.
  func owner(_ kind: Owner.Kind) -> Owner {
    let isFiles = profile.hasTokenFile && kind == .logins
    return Owner(session: index, generation: isFiles ? 0 : generation, kind)
  }

  /// How long a caller of a kept session may wait, in seconds. Short-lived credentials are renewed when
  /// they are no longer fresh, and a caller waits a moment for the renewal that goes on.
  var longestWaitWhileKept: Double { lifetime < 3600 ? 2 : 0 }

  /// Owners that need no sign-in.
  var unattended: [Owner] { [owner(.host), owner(.logins), .anyGuest] }

  /// The most calls that are plausible in an hour: for refreshes, requests and back-off, each with
  /// a chain of calls and their repetitions.
  var mostCallsInHour: Int {
    let refreshes = Int(3600 / (0.19 * min(lifetime, 90))) + 1
    return 8 * (refreshes + requestsInHour + 60)
  }
}
