internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Synchronization

/// Reads the path and the digest of the program that a process runs. Keeps digests while the file
/// stays the same. Blocks: call it on a thread.
final class ExecutableInspector: Sendable {
  /// A file and its content, as far as the kernel distinguishes them. No process can set the time
  /// of the last status change.
  private struct File: Hashable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let modified: Int64
    let changed: Int64

    init(_ facts: credd_file_facts) {
      (device, inode, size) = (facts.device, facts.inode, facts.size)
      (modified, changed) = (facts.modified, facts.changed)
    }
  }

  /// Bytes of a file that is hashed: the largest programs of a host have 200 MB.
  static let largestFile: Int64 = 256 << 20
  /// The number of kept digests: more than any configuration names.
  static let digestsKept = 1024

  private let digests = Mutex<[File: String]>([:])

  func executable(of pid: Int32, withDigest: Bool) -> ExecutableAnswer {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    var facts = credd_file_facts()
    let file = unsafe credd_process_executable(pid, withDigest, &path, path.count, &facts)
    guard file >= 0 else { return .unknown(Self.reason(-file)) }
    defer { credd_close(file) }
    // A path that is not UTF-8 matches no pattern.
    guard
      let name = String(
        validating: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    else { return .unknown("its path is not UTF-8") }
    guard withDigest else { return .executable(.init(path: name)) }
    if let problem = Library.Name.crypto.load() {
      return .unknown("libcrypto cannot be loaded: \(problem)")
    }
    guard let digest = digest(of: file, File(facts)) else {
      return .unknown("\(name) changes, cannot be read or is larger than 256 MiB")
    }
    return .executable(.init(path: name, sha256: digest))
  }

  private static func reason(_ number: Int32) -> String {
    switch number {
    case EACCES, EPERM:
      "the kernel does not let credd see what other users' processes run (CAP_SYS_PTRACE)"
    case ESTALE: "its path leads to another file here: replaced, or of another mount namespace"
    default: SystemError("see what it runs", number: number).description
    }
  }

  private func digest(of descriptor: Int32, _ file: File) -> String? {
    if let known = digests.withLock({ $0[file] }) { return known }
    guard file.size <= Self.largestFile else { return nil }
    guard let bytes = Libcrypto().sha256(ofFile: descriptor, size: file.size) else { return nil }
    var facts = credd_file_facts()
    guard unsafe credd_file_facts(descriptor, &facts) == 0, File(facts) == file else { return nil }
    let digest = String(decoding: Hex.encode(bytes), as: UTF8.self)
    digests.withLock { digests in
      if digests.count >= Self.digestsKept { digests = [:] }
      digests[file] = digest
    }
    return digest
  }
}
