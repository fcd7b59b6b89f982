internal import CredCore

/// What one Unix user has of the server, over how many connections it may be spread.
final class UserShare {
  let uid: UInt32
  /// Open ones.
  var connections = 0
  /// Bytes of lines that were begun, and of lines that wait behind a request.
  var unfinishedBytes = 0
  /// Bytes of replies that were not taken yet.
  var backlogBytes = 0

  /// The last line and its answer that any of the connections may have.
  var quickAnswer: QuickAnswer?

  /// Connections with something to do, linked by ``Connection/nextReady``.
  fileprivate var firstReady: Connection?
  fileprivate var lastReady: Connection?
  /// The next user in the queue.
  fileprivate var next: UserShare?
  fileprivate var isQueued = false

  init(uid: UInt32) {
    self.uid = uid
  }

  var hasReady: Bool { firstReady != nil }

  /// The next connection to serve; it is no longer in the queue.
  func popReady() -> Connection? {
    guard let connection = firstReady else { return nil }
    firstReady = connection.nextReady
    if firstReady == nil { lastReady = nil }
    connection.nextReady = nil
    connection.isReady = false
    return connection
  }

  fileprivate func append(_ connection: Connection) {
    if let last = lastReady { last.nextReady = connection } else { firstReady = connection }
    lastReady = connection
    connection.isReady = true
  }
}

/// Connections that have something to do. Users take turns, however many connections they have; so
/// do the connections of each. Linked through its elements: it allocates nothing.
final class ReadyQueue {
  private var first: UserShare?
  private var last: UserShare?
  private(set) var userCount = 0

  var isEmpty: Bool { first == nil }

  /// One that is in the queue keeps its place.
  func append(_ connection: Connection) {
    guard !connection.isReady else { return }
    connection.user.append(connection)
    append(connection.user)
  }

  func append(_ user: UserShare) {
    guard !user.isQueued else { return }
    user.isQueued = true
    if let last { last.next = user } else { first = user }
    last = user
    userCount += 1
  }

  /// Whose turn it is; still with the connections to serve.
  func popUser() -> UserShare? {
    guard let user = first else { return nil }
    first = user.next
    if first == nil { last = nil }
    user.next = nil
    user.isQueued = false
    userCount -= 1
    return user
  }
}
