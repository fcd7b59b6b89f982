/// What `credctl get` was asked for.
public struct GetOptions: Equatable, Sendable {
  public var socket: String?
  public var profile = "default"
  public var patience = Patience()
  public var refresh = false

  public init() {}

  /// The request, with its newline.
  public var request: [UInt8] {
    var request = RequestLine(operation: "get", profile: profile)
    patience.add(to: &request)
    if refresh { request.add("refresh", true) }
    return request.finished()
  }
}
