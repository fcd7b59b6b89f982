/// What `credctl get`, `env` and `exec` ask the daemon for.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  public var profile = "default"
  public var waiting = Waiting()
  public var refresh = false
  /// The user whose credentials are wanted; nil for the caller's own.
  public var user: String?

  public init() {}

  /// For a program that keeps the credentials until they expire: without `--min-ttl` they must be
  /// valid for ``WaitLimits/usefulLifetime``.
  public init(forEnvironment profile: String, socket: String?, waiting: Waiting, refresh: Bool) {
    self.socket = socket
    self.profile = profile
    self.waiting = waiting
    self.waiting.minimumLifetime = waiting.minimumLifetime ?? WaitLimits.usefulLifetime
    self.refresh = refresh
  }

  /// The request, with its newline.
  public var request: [UInt8] {
    var request = RequestLine(operation: "get", profile: profile)
    waiting.add(to: &request)
    if refresh { request.add("refresh", true) }
    if let user { request.add("user", user) }
    return request.finished()
  }
}
