import CredCore

/// All sessions in order: by user, and by profile within a user.
///
/// It serves code that goes through sessions a part at a time, or through the sessions of one user.
/// The cost does not grow with the sessions of other users. Chunks of bounded size keep an
/// insertion as cheap as a look-up.
struct SessionOrder {
  /// The most sessions of one chunk; a larger chunk is halved.
  private static let chunkSize = 256

  private var chunks: [[Session]] = []
  private(set) var count = 0

  mutating func insert(_ session: Session) {
    count += 1
    guard !chunks.isEmpty else {
      chunks = [[session]]
      return
    }
    let chunk = chunk(of: session.key)
    chunks[chunk].insert(session, at: position(of: session.key, in: chunks[chunk]))
    guard chunks[chunk].count > Self.chunkSize else { return }
    let half = chunks[chunk].count / 2
    chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
    chunks[chunk].removeSubrange(half...)
  }

  mutating func remove(_ session: Session) {
    guard !chunks.isEmpty else { return }
    let chunk = chunk(of: session.key)
    let position = position(of: session.key, in: chunks[chunk])
    guard position < chunks[chunk].count, chunks[chunk][position] === session else { return }
    count -= 1
    chunks[chunk].remove(at: position)
    if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
  }

  /// Goes through the sessions behind a key, or through all for nil, until `body` returns false.
  ///
  /// - Parameter body: must not change this order.
  func walk(after key: SessionKey?, _ body: (Session) -> Bool) {
    guard !chunks.isEmpty else { return }
    let first = key.map { chunk(of: $0) } ?? 0
    for index in first..<chunks.count {
      var start = 0
      if index == first, let key {
        start = position(of: key, in: chunks[index])
        if start < chunks[index].count, chunks[index][start].key == key { start += 1 }
      }
      for session in chunks[index][start...] where !body(session) { return }
    }
  }

  /// The sessions of one user, by profile.
  func sessions(of uid: UInt32) -> [Session] {
    var found: [Session] = []
    walk(after: .before(uid)) { session in
      guard session.key.uid == uid else { return false }
      found.append(session)
      return true
    }
    return found
  }

  /// The last chunk that begins at or before a key.
  private func chunk(of key: SessionKey) -> Int {
    var (low, high) = (0, chunks.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if chunks[middle].first.map({ $0.key <= key }) ?? true { low = middle } else { high = middle }
    }
    return low
  }

  /// The first position in a chunk that is not before a key.
  private func position(of key: SessionKey, in chunk: [Session]) -> Int {
    var (low, high) = (0, chunk.count)
    while low < high {
      let middle = (low + high) / 2
      if chunk[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension SessionKey {
  /// The key before every session of a user: no profile has an empty name.
  static func before(_ uid: UInt32) -> SessionKey { SessionKey(uid: uid, profile: "") }
}
