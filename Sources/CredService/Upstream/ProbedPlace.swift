import CredCore

/// A server that a profile's sign-ins and renewals need.
struct ProbedPlace: Hashable {
  let name: String
  let upstream: Upstream
  let url: String
  let settings: HTTPSettings
  /// The queue in which a request waits for its turn, among the calls to the same server.
  let queue: CallQueue
  /// How the answer is read; nil if any answer is good.
  var reading: ProviderProbe?
  /// Whether the path of the calls is left out, because a call would change something.
  var omitsPath = false

  /// What a good answer shows.
  var trial: ProbeOutcome.Trial {
    switch reading {
    case .discovery?, .keys?: .answer
    case .pool?, nil: omitsPath ? .serverWithoutPath : .server
    }
  }

  static func == (one: ProbedPlace, other: ProbedPlace) -> Bool {
    one.url == other.url && one.settings == other.settings
  }

  func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

extension HTTPSettings {
  private static let probeTimeout: Duration = .seconds(10)

  /// The settings for a request that changes nothing.
  var probing: HTTPSettings {
    var settings = self
    settings.timeout = min(timeout, Self.probeTimeout)
    // A new connection checks the server's address and its certificate too.
    settings.isSentOnce = true
    settings.describesConnection = true
    return settings
  }
}
