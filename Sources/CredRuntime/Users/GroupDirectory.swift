internal import CLinux
internal import Logging

/// Groups by name, looked up once while the configuration is taken into use: callers' groups come
/// from the kernel as numbers.
struct GroupDirectory {
  let log: Logger

  /// Nil where there is no such group; that is said, because it admits nobody.
  func id(_ name: String) -> UInt32? {
    var gid: UInt32 = 0
    guard unsafe credd_group_id(name, &gid) == 1 else {
      log.warning("the host has no group of that name", metadata: ["group": "\(name)"])
      return nil
    }
    return gid
  }
}
