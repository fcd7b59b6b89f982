/// Who asks, as the kernel and the host's user database know it.
public struct Caller: Sendable, Equatable {
  public var uid: UInt32
  /// Primary and supplementary groups.
  public var groups: [UInt32]
  /// Nil for a uid without a name, and where nobody had to know it.
  public var userName: String?
  /// The systemd unit of the calling process; nil where it has none or it could not be told.
  public var unit: String?

  public init(uid: UInt32, groups: [UInt32] = [], userName: String? = nil, unit: String? = nil) {
    self.uid = uid
    self.groups = groups
    self.userName = userName
    self.unit = unit
  }
}
