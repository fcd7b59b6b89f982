/// Why stored bytes are no session.
public enum SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// They end in the middle of a field.
  case truncated
  /// A field is longer than it may be.
  case tooLong(String)
  /// A field holds what this daemon does not understand.
  case invalid(String)
  /// A field that must be there is not.
  case missing(String)

  public var description: String {
    switch self {
    case .truncated: "it ends in the middle of a field"
    case .tooLong(let field): "\(field) is too long"
    case .invalid(let field): "\(field) is not understood"
    case .missing(let field): "\(field) is missing"
    }
  }
}
