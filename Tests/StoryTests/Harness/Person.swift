import CredService

/// Somebody at a terminal.
struct Person {
  let name: String
  let peer: Peer

  static let alice = Person(name: "alice", uid: 1000, pid: 4100)
  static let bob = Person(name: "bob", uid: 1001, pid: 4200)
  static let root = Person(name: "root", uid: 0, pid: 4000)

  private init(name: String, uid: UInt32, pid: Int32) {
    self.name = name
    peer = Peer(uid: uid, gid: uid, pid: pid)
  }

  var groups: [UInt32] { [peer.gid] }
  var prompt: String { name + (peer.uid == 0 ? "#" : "$") }
}
