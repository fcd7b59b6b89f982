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

/// A user to look up.
package struct UserQuery: Hashable, Sendable {
  /// The key by which the user is looked up.
  package enum Key: Hashable, Sendable {
    case uid(UInt32)
    case name(String)

    /// Compares bytes: Swift takes composed and decomposed accents as equal, the host as two users.
    /// Equal bytes have equal hashes, so the hash is Swift's.
    package static func == (one: Self, other: Self) -> Bool {
      switch (one, other) {
      case (.uid(let one), .uid(let other)): one == other
      case (.name(let one), .name(let other)): one.utf8.elementsEqual(other.utf8)
      default: false
      }
    }
  }

  package var key: Key
  /// Also looks up the user's groups. This costs more, because directories search all groups.
  package var withGroups = false

  package init(_ key: Key, withGroups: Bool = false) {
    self.key = key
    self.withGroups = withGroups
  }
}

/// An entry of the user database.
package struct UserEntry: Equatable, Sendable {
  package var uid: UInt32
  package var name: String
  /// Empty unless the query asked for them.
  package var groups: [UInt32] = []
  /// Groups that the database listed for this user since the daemon's start, but no longer lists.
  package var withdrawn: Set<UInt32> = []

  package init(uid: UInt32, name: String, groups: [UInt32] = [], withdrawn: Set<UInt32> = []) {
    self.uid = uid
    self.name = name
    self.groups = groups
    self.withdrawn = withdrawn
  }
}

/// The user database's answer about a user.
package enum UserAnswer: Equatable, Sendable {
  case user(UserEntry)
  /// The host knows no such user.
  case nobody
  /// The user's name is not UTF-8, or is longer than names of logins are. Two different names must never
  /// be read as the same one, so credd does not read this name.
  case unreadableName
  /// The database did not answer, and has never answered this query.
  case unavailable

  /// Nil without a user.
  var name: String? { if case .user(let user) = self { user.name } else { nil } }
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

  /// The refusal of a request whose program cannot be checked now, but perhaps later.
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
