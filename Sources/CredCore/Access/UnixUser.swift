/// The Unix user that a call is for. The next owner of a uid has another name.
public struct UnixUser: Sendable, Hashable {
  /// Who it is to the kernel.
  public let uid: UInt32
  /// Nil for a uid without a name.
  public let name: String?

  public init(uid: UInt32, name: String?) {
    self.uid = uid
    self.name = name
  }
}
