/// Who asks, as the kernel and the host's user database know it.
public struct Caller: Sendable, Equatable {
  public var uid: UInt32
  /// Primary and supplementary groups.
  public var groups: [UInt32]
  /// Nil for a uid without a name, and where nobody had to know it.
  public var userName: String?
  /// The systemd unit of the calling process; nil where it has none or it could not be told.
  public var unit: String?
  /// The file that the calling process runs; nil where it could not be told.
  public var executable: Executable?
  /// Whether the uid is what the kernel says for those it has no number for here (user_namespaces
  /// (7)): anybody of any namespace.
  public var isUnmapped: Bool

  public init(
    uid: UInt32, groups: [UInt32] = [], userName: String? = nil, unit: String? = nil,
    executable: Executable? = nil, isUnmapped: Bool = false
  ) {
    self.uid = uid
    self.groups = groups
    self.userName = userName
    self.unit = unit
    self.executable = executable
    self.isUnmapped = isUnmapped
  }

  /// A program, as the kernel knows it.
  public struct Executable: Sendable, Equatable {
    /// Absolute, without symbolic links.
    public var path: String
    /// Of its content, 64 lower-case hexadecimal digits; nil where nobody had to know it.
    public var sha256: String?

    public init(path: String, sha256: String? = nil) {
      self.path = path
      self.sha256 = sha256
    }
  }
}
