package import CredCore

/// Queries to the host that may block: call them on a ``BackgroundLane`` only.
package protocol HostQueries: Sendable {
  /// A user of the user database, by uid or name.
  func user(_ query: UserQuery) -> UserAnswer
  /// The number of a group, by its name.
  func group(_ name: String) -> GroupAnswer
  /// The path and the file of the program that a process runs.
  func program(of pid: Int32) -> ProgramAnswer
  /// The digest of a file that a process still runs.
  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer
  /// - Throws: an error that names `path`, under the configuration's `key`.
  func file(_ path: String, key: String) throws(InvalidInput) -> Secret
  /// /etc/subuid, unless it is still the file that was read before.
  func subordinateRanges(unless known: ProgramFile?) -> SubordinateAnswer
  /// Never blocks.
  func environment(_ name: String) -> String?
}

/// The user database's answer about a group.
package enum GroupAnswer: Equatable, Sendable {
  case group(UInt32)
  /// The host knows no such group.
  case noSuchGroup
  /// The database did not answer.
  case unavailable
}

/// A file and its content, as far as the kernel distinguishes them. A process can set `st_mtim`,
/// but not `st_ctim`.
package struct ProgramFile: Hashable, Sendable {
  /// `st_dev`.
  package let device: UInt64
  /// `st_ino`.
  package let inode: UInt64
  /// In bytes.
  package let size: Int64
  /// `st_mtim`, in nanoseconds.
  package let modified: Int64
  /// `st_ctim`, in nanoseconds.
  package let changed: Int64

  package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}

/// Which program a process runs.
package enum ProgramAnswer: Equatable, Sendable {
  /// By its path and its file.
  case program(path: String, ProgramFile)
  /// With the reason, for the operator.
  case unknown(String)
}

/// The SHA-256 of a program's file.
package enum DigestAnswer: Equatable, Sendable {
  /// In 64 lower-case hexadecimal digits.
  case digest(String)
  /// With the reason, for the operator.
  case unknown(String)
}

/// The content of /etc/subuid.
package enum SubordinateAnswer: Equatable, Sendable {
  case ranges(SubordinateRanges, ProgramFile)
  /// The file is the same as before.
  case unchanged
  /// There is no such file: no user has a range.
  case missing
  /// With the reason, for the operator.
  case unreadable(String)
}

/// The answer about a client's program.
enum ExecutableAnswer: Equatable {
  case executable(Caller.Executable)
  /// With the reason, for the operator.
  case unknown(String)
  /// The disk did not answer in time.
  case overdue
  /// The user asks about too many processes at once.
  case crowded

  /// The refusal of a request from a program that cannot be checked now, but perhaps later.
  var error: ProtocolError? {
    switch self {
    case .executable, .unknown: nil
    case .overdue:
      ProtocolError(
        .timeout, "the file of the calling program could not be read in time; try again",
        retryAfter: UserDirectory.failureKeptFor)
    case .crowded:
      ProtocolError(
        .tooManyRequests,
        "more than \(Limits.Client.queuedPrograms) programs of this user already wait to be "
          + "checked",
        retryAfter: .seconds(1))
    }
  }
}
