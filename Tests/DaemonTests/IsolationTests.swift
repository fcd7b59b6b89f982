import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Users times profiles times operations, all at once: nothing of one user's on another's
/// connection.
@Suite(
  .onStage,
  .enabled(
    if: OtherUser.canBe && PythonScript.canRun, "takes root, which can be other users, and python3")
)
struct IsolationTests {
  static let users = [
    OtherUser.games, .daemon, OtherUser(user: "bin", groups: ["bin"]),
    // A uid without a name, whose number others have for a profile's name.
    OtherUser(user: "4242", groups: ["games"]),
  ]
  /// Names that are prefixes, numbers of users, or differ by case alone.
  static let profiles = ["default", "a", "a.b", "A", "5", "4242"]
  /// Every operation, some of them of the kind that must be refused. `PROFILE` is each profile.
  static let lines = [
    #"{"op":"get","profile":"PROFILE","wait":0.2}"#,
    #"{"op":"get","profile":"PROFILE","wait":0.2,"id":1}"#,
    #"{"op":"get","profile":"PROFILE","refresh":true,"wait":0.3,"id":"5"}"#,
    #"{"op":"get","profile":"PROFILE","min_ttl":60,"wait":0.2}"#,
    #"{"op":"get","profile":"PROFILE","user":"games","wait":0.2}"#,
    #"{"op":"get","profile":"PROFILE","user":"1","wait":0.2}"#,
    #"{"op":"token","profile":"PROFILE","wait":0.2,"id":1}"#,
    #"{"op":"identity","profile":"PROFILE"}"#,
    #"{"op":"status","id":1}"#,
    #"{"op":"status","all":true}"#,
    #"{"op":"clear","profile":"PROFILE","what":"credentials"}"#,
    #"{"op":"release","profile":"PROFILE"}"#,
    #"{"op":"logout","profile":"PROFILE","id":"5"}"#,
    #"{"op":"get","profile":"PROFILE","wait":0}"#,
    #"{"op":"login","profile":"PROFILE","id":1}"#,
    #"{"op":"clear","profile":"PROFILE","what":"identity"}"#,
    #"{"op":"ping"}"#,
    #"{"op":"nonsense"}"#,
  ]

  /// Sends all lines, pipelined, in random order and random pieces, on several connections, while
  /// others watch; prints every reply.
  private static let client = """
    import json, random, selectors, socket, sys, time
    path, seed, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lines = sys.argv[4:]
    generator = random.Random(seed)
    poll = selectors.DefaultSelector()
    deadline = time.monotonic() + 100
    class Client:
        def __init__(self, text, expected):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(path)
            self.socket.setblocking(False)
            self.text, self.expected, self.seen = text, expected, b''
            poll.register(self.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, self)
        def turn(self, events):
            if events & selectors.EVENT_WRITE and self.text:
                sent = self.socket.send(self.text[:generator.choice([1, 7, 60, 4000])])
                self.text = self.text[sent:]
                if not self.text:
                    poll.modify(self.socket, selectors.EVENT_READ, self)
            if events & selectors.EVENT_READ:
                part = self.socket.recv(generator.choice([1, 100, 65536]))
                assert part or not self.expected, 'closed'
                self.seen += part
        def done(self):
            return self.seen.count(b'\\n') >= self.expected
    clients = []
    for _ in range(connections):
        order = generator.sample(lines, len(lines))
        clients.append(Client('\\n'.join(order).encode() + b'\\n', len(order)))
    watchers = [Client(b'{"op":"watch"}\\n', 1), Client(b'{"op":"watch","profile":"5"}\\n', 1)]
    while not all(client.done() for client in clients + watchers):
        assert time.monotonic() < deadline, [c.seen.count(b'\\n') for c in clients]
        for key, events in poll.select(1):
            key.data.turn(events)
    for client in clients + watchers:
        # A watcher may be in the middle of a line.
        sys.stdout.write(client.seen[:client.seen.rfind(b'\\n') + 1].decode())
    """

  @Test
  func nothingOfOneUserReachesAnother() throws {
    let host = try TestHost(sandbox: ["--any-user"], arguments: []) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Self.profiles.map {
          Configuration.profile($0, endpoint: sandbox.url, identifier: "u{uid}")
        }.joined()
    }
    unsafe chmod(host.socketPath, 0o777)
    let lines = Self.profiles.flatMap { profile in
      Self.lines.map { $0.replacing("PROFILE", with: profile) }
    }
    let script = try PythonScript(Self.client)
    let seed = UInt32.random(in: 0..<UInt32.max)
    let running = try Self.users.enumerated().map { index, user in
      try script.start(host, as: user, ["\(seed &+ UInt32(index))", "3"] + lines)
    }
    var secrets: [Set<String>] = []
    for process in running {
      expect(try process.wait(.in(.seconds(120))), equals: 0, "seed \(seed): \(process.errors)")
      secrets.append(try self.secrets(in: process.output))
    }
    for (index, own) in secrets.enumerated() {
      expect(own.count >= 5, "seed \(seed)")
      for (other, process) in running.enumerated() where other != index {
        let output = process.output
        let leaked = own.filter { output.contains($0) }
        expect(leaked.isEmpty, "seed \(seed): of \(Self.users[index].user)'s: \(leaked)")
      }
    }
    try checkOwners(running.map(\.output), host, seed)
  }

  /// What must never be on another user's connection.
  private func secrets(in output: String) throws -> Set<String> {
    var found: Set<String> = []
    for line in output.split(separator: "\n") {
      let reply = try JSON(String(line))
      for name in ["AccessKeyId", "SecretAccessKey", "SessionToken", "Token", "IdentityId"] {
        if let text = reply[name]?.text { found.insert(text) }
      }
    }
    return found
  }

  /// By the upstream's own books: every key that a user was given is of an identity of theirs.
  private func checkOwners(_ outputs: [String], _ host: TestHost, _ seed: UInt32) throws {
    var owners: [String: Int] = [:]
    for (index, output) in outputs.enumerated() {
      // The same credentials come many times.
      let lines = Set(
        output.split(separator: "\n").compactMap {
          $0.firstMatch(of: /"AccessKeyId":.*"SessionToken":"[^"]*"/).map { String($0.output) }
        })
      expect(!lines.isEmpty, "seed \(seed)")
      for line in lines {
        let issued = try host.sandbox.issued(JSON("{\(line)}"))
        let identity = try #require(issued["IdentityId"]?.text)
        expect(owners[identity, default: index], equals: index, "seed \(seed): \(identity)")
        owners[identity] = index
      }
    }
    expect(Set(owners.values).count, equals: outputs.count)
  }
}
