/// What `credctl get` was asked for.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  public var profile = "default"
  public var patience = Patience()
  public var refresh = false
  /// In whose name; nil for one's own.
  public var user: String?

  public init() {}

  /// For a program that keeps the credentials until they expire: ``WaitLimits/usefulLifetime`` is
  /// asked for where nothing else is.
  public init(
    socket: String?, profile: String, keeping patience: Patience, refresh: Bool
  ) {
    self.socket = socket
    self.profile = profile
    self.patience = patience
    self.patience.minimumLifetime = patience.minimumLifetime ?? WaitLimits.usefulLifetime
    self.refresh = refresh
  }

  /// The request, with its newline.
  public var request: [UInt8] {
    var request = RequestLine(operation: "get", profile: profile)
    patience.add(to: &request)
    if refresh { request.add("refresh", true) }
    if let user { request.add("user", user) }
    return request.finished()
  }
}
