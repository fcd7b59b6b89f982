/// The calling process, as the kernel and the host's user database describe it.
public struct Caller: Sendable, Equatable {
  public var uid: UInt32
  /// Primary and supplementary groups.
  public var groups: [UInt32]
  /// The user's name; nil for a uid without a name.
  public var userName: String?
  /// The systemd unit of the process; nil if it has none, or if the unit could not be determined.
  public var unit: String?
  /// The file that the process runs; nil if it could not be determined.
  public var executable: Executable?
  /// Whether the uid is the overflow uid, which stands for all users that have no number in this
  /// namespace (user_namespaces(7)).
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

  /// A program's file.
  public struct Executable: Sendable, Equatable {
    /// The absolute path, without symbolic links.
    public var path: String
    /// The digest of its content in 64 lower-case hexadecimal digits; nil if no rule needs it.
    public var sha256: String?

    public init(path: String, sha256: String? = nil) {
      self.path = path
      self.sha256 = sha256
    }
  }
}
