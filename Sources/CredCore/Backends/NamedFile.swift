/// A header or a variable that has the content of a file as value. The file is read again for each
/// call.
public struct ValueFile: Sendable, Equatable {
  /// Of the configuration: `header_file.X-Api-Key`.
  public let key: String
  /// The header's or the variable's.
  public let name: String
  public let path: String

  var namedFile: NamedFile? { NamedFile(key, path, .secret(.line)) }
}

/// A file or program that a key of a backend names, for a check of the configuration.
public struct NamedFile: Sendable, Equatable {
  /// The content that credd expects.
  public enum Content: Sendable, Equatable {
    case secret(FileText)
    /// PEM with a block of this name in it.
    case pem(String)
    /// Certificates in PEM.
    case authorities
    case program
    case socket
  }

  public let key: String
  public let path: String
  public let content: Content

  /// Returns nil without a path.
  init?(_ key: String, _ path: String?, _ content: Content) {
    guard let path else { return nil }
    self.key = key
    self.path = path
    self.content = content
  }
}
