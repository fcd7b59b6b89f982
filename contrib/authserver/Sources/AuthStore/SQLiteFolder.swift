import AuthCore
import CSQLite
import Glibc

/// Where a database of SQLite lies.
public enum SQLiteFolder {
  /// What is wrong with the folder of a database file; nil if it will do.
  ///
  /// SQLite makes files beside the database, and maps one of them into memory. On another machine's
  /// disk, two machines would see two memories.
  public static func fault(of path: String) -> String? {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    guard unsafe access(folder, W_OK | X_OK) == 0 else {
      return "the folder \(folder) cannot be written: \(SystemError.last)"
    }
    var system = statfs()
    guard unsafe statfs(folder, &system) == 0 else { return nil }
    // NFS, SMB, SMB2 and CIFS.
    let network: [UInt32] = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42]
    return network.contains(UInt32(truncatingIfNeeded: system.f_type))
      ? "\(folder) is on another machine's disk, where SQLite's files do not work: use PostgreSQL"
      : nil
  }
}
