/// The reason why stored bytes cannot be read as a session.
public enum SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The bytes end in the middle of a field.
  case truncated
  /// A field is longer than it may be.
  case tooLong(String)
  /// A field has a value that this daemon does not understand.
  case invalid(String)
  /// A required field is missing.
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
