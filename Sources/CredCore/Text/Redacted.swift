/// A value that holds secrets as plain bytes: neither `print` nor `dump` nor a debugger's summary
/// shows them.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{}

extension Redacted {
  public var description: String { "<secret>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
