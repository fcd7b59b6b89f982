internal import CredCore

/// The open connections, found by the token that epoll hands back.
final class ConnectionTable {
  private var slots: [Connection?] = []
  private var free: [Int] = []
  private var generation: UInt64 = 0
  private var perUser: [UInt32: Int] = [:]
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
    generation += 1
    let index: Int
    if let reused = free.popLast() {
      index = reused
    } else {
      index = slots.count
      slots.append(nil)
    }
    let token = generation << 32 | UInt64(index)
    let connection = Connection(descriptor: descriptor, peer: peer, token: token, accepted: now)
    slots[index] = connection
    count += 1
    perUser[peer.uid, default: 0] += 1
    return connection
  }

  func remove(_ connection: Connection) {
    let index = Int(connection.token & 0xFFFF_FFFF)
    slots[index] = nil
    free.append(index)
    count -= 1
    let left = perUser[connection.peer.uid, default: 1] - 1
    perUser[connection.peer.uid] = left == 0 ? nil : left
  }

  func count(of uid: UInt32) -> Int { perUser[uid, default: 0] }

  /// All of them, in no order.
  var all: [Connection] { slots.compactMap { $0 } }
}
