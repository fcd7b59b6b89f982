internal import CLinux
internal import CredCore

/// The configuration's files as the kernel knows them. If a file is written, replaced, added or
/// removed, the state is another one. If only the rights of a file change, the state is the same.
public struct ConfigurationState: Equatable, Sendable {
  private struct Facts: Equatable {
    let device, inode: UInt64
    let size, modified: Int64
  }

  let path: String
  private var files: [String: Facts] = [:]

  /// Blocks.
  public init(of path: String) {
    self.path = path
    let fragments = (try? ConfigurationFiles.fragments(of: path)) ?? []
    for file in ([path] + fragments).prefix(Limits.Configuration.files + 1) {
      var facts = credd_file_facts()
      guard unsafe credd_file_facts_at(file, &facts) == 0 else { continue }
      files[file] = Facts(
        device: facts.device, inode: facts.inode, size: facts.size, modified: facts.modified)
    }
  }
}
