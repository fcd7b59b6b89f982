/// The Unix user for whom a call is made. The next owner of a uid has another name.
public struct UnixUser: Sendable, Hashable {
  /// The user's number in the kernel.
  public let uid: UInt32
  /// The user's name; nil for a uid without a name.
  public let name: String?

  public init(uid: UInt32, name: String?) {
    self.uid = uid
    self.name = name
  }
}
