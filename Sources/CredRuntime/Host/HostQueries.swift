internal import CLinux
internal import Glibc
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

/// This host's name, for `{host}` in templates.
enum HostName {
  static var current: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
    return String(
      decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
