internal import CredCore

/// The options of the requests that `credctl get`, `env` and `exec` make.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  /// The profile that the request names; nil leaves it to the daemon.
  public var named: String?
  public var waiting = Waiting()
  public var refresh = false
  /// The user whose credentials are wanted; nil for the caller's own.
  public var user: String?
  /// Whether a command that renews must not read `~/.aws/config`.
  public var leavesOutConfig = false

  public init(profile: String? = nil) {
    named = profile
  }

  /// The options for a program that keeps the credentials until they expire. Without `--min-ttl`,
  /// they must be valid for ``WaitLimits/usefulLifetime``.
  public init(forEnvironment profile: String?, socket: String?, waiting: Waiting, refresh: Bool) {
    self.socket = socket
    named = profile
    self.waiting = waiting
    self.waiting.minimumLifetime = waiting.minimumLifetime ?? WaitLimits.usefulLifetime
    self.refresh = refresh
  }

  /// The profile, as people call it.
  public var profile: String { named ?? DefaultProfile.ofDaemon }

  /// The request, with its newline.
  public var request: [UInt8] { request(waiting: waiting) }

  /// The same with another wait.
  public func request(waiting: Waiting) -> [UInt8] {
    var request = RequestLine(operation: "get", profile: named)
    waiting.add(to: &request)
    if refresh { request.add("refresh", true) }
    if let user { request.add("user", user) }
    return request.finished()
  }
}

/// The profile to use if the command line names none.
public enum DefaultProfile {
  /// The daemon's own default. Over a socket with a cap that has one profile, it is that one.
  public static let ofDaemon = ProfileName.default

  /// `$CREDD_PROFILE`, else the daemon's default. An empty variable counts as unset. `$AWS_PROFILE`
  /// names a profile of `~/.aws/config`, and is not read.
  public static func name(environment: (String) -> String?) -> String {
    named(environment: environment) ?? ofDaemon
  }

  /// The same; nil for the daemon's default, which a request need not name.
  public static func named(environment: (String) -> String?) -> String? {
    guard let name = environment("CREDD_PROFILE"), !name.isEmpty else { return nil }
    return name
  }

  /// The refusal of a profile that is named twice.
  public static let namedTwice = "give the profile once, as a word or with '--profile'"
}
