import CredCore
import CredService
import Synchronization

/// The user database and the files of the host.
final class SimulatedQueries: HostQueries {
  private struct State {
    var now = World.beginning
    /// The number of the person who has each uid.
    var generations: [Int: Int] = [:]
  }

  private let state = Mutex(State())
  private let swapsUsers: Bool
  private let keepsNames: Bool

  init(swapsUsers: Bool, keepsNames: Bool) {
    self.swapsUsers = swapsUsers
    self.keepsNames = keepsNames
  }

  func setTime(_ now: Instant) { state.withLock { $0.now = now } }

  /// A uid is given to another person.
  func handOver(_ user: Int) { state.withLock { $0.generations[user, default: 0] += 1 } }

  func user(_ query: UserQuery) -> UserAnswer {
    guard case .uid(let uid) = query.key, let user = SimulatedUsers.user(withUID: uid) else {
      return .nobody
    }
    let named = swapsUsers ? SimulatedUsers.partner(of: user) : user
    let generation = keepsNames ? 0 : state.withLock { $0.generations[user] ?? 0 }
    return .user(
      UserEntry(
        uid: uid, name: SimulatedUsers.name(named, generation: generation),
        groups: query.withGroups ? [100] : []))
  }

  func group(_ name: String) -> GroupAnswer { .noSuchGroup }

  func subordinateRanges(unless known: ProgramFile?) -> SubordinateAnswer { .missing }

  func program(of pid: Int32) -> ProgramAnswer {
    .program(
      path: "/usr/bin/app", ProgramFile(device: 1, inode: 1, size: 1, modified: 1, changed: 1))
  }

  func digest(of file: ProgramFile, runBy pid: Int32) -> DigestAnswer {
    .digest(String(repeating: "0", count: 64))
  }

  func file(_ path: String, key: String) throws(InvalidInput) -> Secret {
    if path == SimulatedConfiguration.keysFile {
      return Secret("[default]\naws_access_key_id = AKIA\naws_secret_access_key = key\n")
    }
    guard let session = SimulatedUsers.session(ofTokenFile: path) else {
      throw InvalidInput(field: key, reason: "there is no \(path)")
    }
    let end = state.withLock { $0.now } + .seconds(3000)
    return Secret(
      Seal(
        Owner(session: session, generation: 0, .logins), end: end, lifetime: .seconds(3000),
        isEndKnown: false
      ).text + [UInt8(ascii: "\n")])
  }

  func environment(_ name: String) -> String? { nil }
}
