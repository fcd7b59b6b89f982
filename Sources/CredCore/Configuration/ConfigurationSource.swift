/// One configuration file as it was read: the core does no I/O of its own.
public struct ConfigurationSource: Sendable, Undisclosed {
  /// The name under which diagnostics speak of the file.
  public let name: String
  /// Its content, unchecked.
  public let bytes: [UInt8]

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}
