internal import CredCore
internal import CredService

/// The open connections, found by the token that epoll hands back.
final class ConnectionTable {
  /// The bit that is set in the tokens of the endpoint, and never in those of other servers.
  static let endpointBit: UInt64 = 1 << 63

  /// ``endpointBit`` or 0: set in all tokens of this table.
  let mark: UInt64
  private var slots: [(any FramedConnection)?] = []
  private var free: [Int] = []
  /// Never 0: tokens with 0 belong to no connection. Its highest bit is never set: see
  /// ``endpointBit``.
  private(set) var generation: UInt32 = 0
  private var users: [UserPlace: UserQueue] = [:]
  /// Open connections by account. Those of users who are being looked up are under nil.
  private var shares: [Share: Int] = [:]
  private(set) var count = 0

  /// An account, at a socket with a cap or at all other sockets.
  private struct Share: Hashable {
    let account: Account?
    let allowance: UnixSocketPath?

    /// Uids without an owner, and users who are being looked up, are many: they have one share at all
    /// sockets together.
    init(_ account: Account?, at allowance: UnixSocketPath?) {
      self.account = account
      switch account {
      case .user, .range: self.allowance = allowance
      case .ownerless, nil: self.allowance = nil
      }
    }
  }

  init(mark: UInt64) { self.mark = mark }

  /// The connection of that token; nil if it is closed, even if another connection has its slot.
  subscript(token: UInt64) -> (any FramedConnection)? {
    let index = Int(token & 0xFFFF_FFFF)
    guard index < slots.count, let connection = slots[index], connection.token == token else {
      return nil
    }
    return connection
  }

  /// - Parameter make: makes the connection of that user, with that token.
  func insert(
    at place: UserPlace, in account: Account?,
    _ make: (UserQueue, UInt64) -> any FramedConnection
  ) -> any FramedConnection {
    generation = max((generation &+ 1) & 0x7FFF_FFFF, 1)
    let index: Int
    if let reused = free.popLast() {
      index = reused
    } else {
      index = slots.count
      slots.append(nil)
    }
    let user = users[place] ?? UserQueue(place)
    users[place] = user
    move(user, to: account)
    let connection = make(user, mark | UInt64(generation) << 32 | UInt64(index))
    slots[index] = connection
    count += 1
    user.connections += 1
    addShare(1, to: account, at: place.allowance)
    return connection
  }

  func remove(_ connection: any FramedConnection) {
    let index = Int(connection.token & 0xFFFF_FFFF)
    slots[index] = nil
    free.append(index)
    count -= 1
    connection.user.connections -= 1
    let user = connection.user
    addShare(-1, to: user.account, at: user.place.allowance)
    if user.connections == 0 { users[user.place] = nil }
  }

  /// Open connections of one uid there.
  func count(of place: UserPlace) -> Int { users[place]?.connections ?? 0 }

  /// Open connections of all uids of an account there.
  func count(of account: Account?, at allowance: UnixSocketPath?) -> Int {
    shares[Share(account, at: allowance), default: 0]
  }

  /// - Returns: whether the uid has connections there.
  @discardableResult
  func move(_ place: UserPlace, to account: Account?) -> Bool {
    guard let user = users[place] else { return false }
    move(user, to: account)
    return true
  }

  private func move(_ user: UserQueue, to account: Account?) {
    guard user.account != account else { return }
    addShare(-user.connections, to: user.account, at: user.place.allowance)
    user.account = account
    addShare(user.connections, to: account, at: user.place.allowance)
  }

  private func addShare(_ difference: Int, to account: Account?, at allowance: UnixSocketPath?) {
    let left = count(of: account, at: allowance) + difference
    shares[Share(account, at: allowance)] = left > 0 ? left : nil
  }

  /// All open connections, in no order.
  var all: [any FramedConnection] { slots.compactMap { $0 } }

}

/// One Unix user's share of the server, for all the user's connections at one place.
final class UserQueue {
  let place: UserPlace
  /// The account for which the connections count; nil while the user is being looked up.
  var account: Account?
  /// Open connections.
  var connections = 0
  /// Bytes of unfinished lines, and of lines after a waiting request.
  var unfinishedBytes = 0
  /// Bytes of replies that the clients have not taken.
  var backlogBytes = 0

  /// Connections with something to do, linked by ``Connection/nextReady``.
  fileprivate var firstReady: (any FramedConnection)?
  fileprivate var lastReady: (any FramedConnection)?
  /// The next user in the queue.
  fileprivate var next: UserQueue?
  fileprivate var isQueued = false

  init(_ place: UserPlace) {
    self.place = place
  }

  var hasReady: Bool { firstReady != nil }

  /// Removes and returns the next connection to serve.
  func popReady() -> (any FramedConnection)? {
    guard let connection = firstReady else { return nil }
    firstReady = connection.nextReady
    if firstReady == nil { lastReady = nil }
    connection.nextReady = nil
    connection.isReady = false
    return connection
  }

  fileprivate func append(_ connection: any FramedConnection) {
    if let last = lastReady { last.nextReady = connection } else { firstReady = connection }
    lastReady = connection
    connection.isReady = true
  }
}

/// Connections that have something to do. Users take turns, however many connections they have. The
/// connections of each user take turns too. The elements are linked, so the queue allocates
/// nothing.
final class ReadyQueue {
  private var first: UserQueue?
  private var last: UserQueue?
  private(set) var userCount = 0

  var isEmpty: Bool { first == nil }

  /// A connection that is already in the queue keeps its place.
  func append(_ connection: any FramedConnection) {
    guard !connection.isReady else { return }
    connection.user.append(connection)
    append(connection.user)
  }

  func append(_ user: UserQueue) {
    guard !user.isQueued else { return }
    user.isQueued = true
    if let last { last.next = user } else { first = user }
    last = user
    userCount += 1
  }

  /// Removes and returns the user whose turn it is, with the connections to serve.
  func popUser() -> UserQueue? {
    guard let user = first else { return nil }
    first = user.next
    if first == nil { last = nil }
    user.next = nil
    user.isQueued = false
    userCount -= 1
    return user
  }
}
