internal import CredCore

/// The open connections, found by the token that epoll hands back.
final class ConnectionTable {
  private var slots: [Connection?] = []
  private var free: [Int] = []
  /// Never 0, which tokens have that are no connection's.
  private var generation: UInt32 = 0
  private var users: [UInt32: UserShare] = [:]
  private(set) var count = 0

  /// The connection of that token; nil if it is closed, even if its slot has another one by now.
  subscript(token: UInt64) -> Connection? {
    let index = Int(token & 0xFFFF_FFFF)
    guard index < slots.count, let connection = slots[index], connection.token == token else {
      return nil
    }
    return connection
  }

  func insert(_ descriptor: Int32, _ peer: Peer, _ now: Instant) -> Connection {
    generation = max(generation &+ 1, 1)
    let index: Int
    if let reused = free.popLast() {
      index = reused
    } else {
      index = slots.count
      slots.append(nil)
    }
    let token = UInt64(generation) << 32 | UInt64(index)
    let user = users[peer.uid] ?? UserShare(uid: peer.uid)
    users[peer.uid] = user
    let connection = Connection(
      descriptor: descriptor, peer: peer, user: user, token: token, accepted: now)
    slots[index] = connection
    count += 1
    user.connections += 1
    return connection
  }

  func remove(_ connection: Connection) {
    let index = Int(connection.token & 0xFFFF_FFFF)
    slots[index] = nil
    free.append(index)
    count -= 1
    connection.user.connections -= 1
    if connection.user.connections == 0 { users[connection.peer.uid] = nil }
  }

  /// All of them, in no order.
  var all: [Connection] { slots.compactMap { $0 } }
}
