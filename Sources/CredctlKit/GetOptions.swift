internal import CredCore

/// The options of the requests that `credctl get`, `env` and `exec` make.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  /// The profile that the request names; nil leaves it to the daemon.
  public var named: String?
  public var waiting = Waiting()
  public var refresh = false
  /// The user for whom credentials are wanted; nil for the caller.
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
