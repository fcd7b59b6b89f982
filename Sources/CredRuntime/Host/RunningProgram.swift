internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// The program that a process runs: its path, its file and the file's digest. Blocks: call it on a
/// thread.
enum RunningProgram {
  /// Finds the program without reading the file's content.
  static func find(_ pid: Int32) -> ProgramAnswer {
    switch open(pid, content: false) {
    case .failure(let problem): .unknown(problem.reason)
    case .success(let program): .program(path: program.path, program.file)
    }
  }

  static func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer {
    guard file.size <= Limits.User.programBytes else {
      return .unknown("it is larger than 256 MiB")
    }
    if let problem = Library.Name.crypto.load() {
      return .unknown("libcrypto cannot be loaded: \(problem)")
    }
    switch open(pid, content: true) {
    case .failure(let problem): return .unknown(problem.reason)
    case .success(let program):
      guard program.file == file else { return .unknown("it runs another program now") }
      let bytes = Libcrypto().sha256(ofFile: program.descriptor.number, size: file.size)
      guard let bytes, ProgramFile(of: program.descriptor.number) == file else {
        return .unknown("\(program.path) changes or cannot be read")
      }
      return .digest(String(decoding: Hex.encode(bytes), as: UTF8.self))
    }
  }

  private struct Problem: Error {
    let reason: String
  }

  private struct Opened {
    let path: String
    let file: ProgramFile
    let descriptor: OwnedDescriptor
  }

  private final class OwnedDescriptor {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { credd_close(number) }
  }

  private static func open(_ pid: Int32, content: Bool) -> Result<Opened, Problem> {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    var facts = credd_file_facts()
    let number = unsafe credd_process_executable(pid, content, &path, path.count, &facts)
    guard number >= 0 else { return .failure(Problem(reason: reason(-number))) }
    let descriptor = OwnedDescriptor(number)
    // A path that is not UTF-8 matches no pattern.
    guard
      let name = String(
        validating: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    else { return .failure(Problem(reason: "its path is not UTF-8")) }
    return .success(Opened(path: name, file: ProgramFile(facts), descriptor: descriptor))
  }

  private static func reason(_ number: Int32) -> String {
    switch number {
    case EACCES, EPERM:
      "the kernel does not let credd see what other users' processes run (CAP_SYS_PTRACE)"
    case ESTALE: "its path leads to another file here: replaced, or of another mount namespace"
    default: SystemError("see what it runs", number: number).description
    }
  }
}

extension ProgramFile {
  fileprivate init(_ facts: credd_file_facts) {
    self.init(
      device: facts.device, inode: facts.inode, size: facts.size, modified: facts.modified,
      changed: facts.changed)
  }

  fileprivate init?(of descriptor: Int32) {
    var facts = credd_file_facts()
    guard unsafe credd_file_facts(descriptor, &facts) == 0 else { return nil }
    self.init(facts)
  }
}
