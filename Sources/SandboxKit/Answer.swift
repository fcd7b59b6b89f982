public import FoundationEssentials

/// What the server does with one request.
public struct Answer: Sendable {
  /// How a reply goes out.
  public enum Delivery: Sendable, Equatable {
    case whole
    /// Half of the body under the full Content-Length, then the end of the connection.
    case truncated
    /// The connection is reset.
    case reset
    /// Nothing, until the caller goes.
    case never
  }

  public var reply: HTTPReply
  public var delivery = Delivery.whole
  /// Seconds to wait first.
  public var delay = 0.0
  /// The `Date` field.
  public var date: Date
  /// The call counts as under way until ``Sandbox/ended(_:)``.
  public var isCounted = false
}
