import CredCore
import FuzzTargets
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A client of a socket with a cap sends anything: it never gets a byte of what is not there.
struct CappedFuzzTests {
  /// Names that no grammar makes.
  private static let hidden = ["hidden-1", "hidden-2"]
  private let fixture: ServiceFixture
  /// What must not be said: names, credentials and identities of the rest.
  private var rest: [String] = hidden + ["zebedee"]

  init() throws {
    let others = Self.hidden.map {
      Configured.profile($0, identifier: "zebedee-\($0)", "allow_users = alice zebedee")
    }
    let keys = "profiles = narrow\noperations = get identity ping watch token endpoint"
    fixture = try ServiceFixture(SocketCapTests.text(keys, others: others.joined()))
    fixture.host.queries.users[1002] = UserEntry(uid: 1002, name: "zebedee")
    for profile in Self.hidden {
      for uid in [1000, 1002] as [UInt32] {
        let given = try fixture.ask(#"{"profile":"\#(profile)"}"#, uid: uid)
        rest.append(try #require(given.accessKeyID))
        let state = try fixture.ask(#"{"op":"identity","profile":"\#(profile)"}"#, uid: uid)
        rest.append(try #require(state["IdentityId"]?.text))
      }
    }
  }

  private func replies(to line: String) -> [String] {
    let client = fixture.connect(at: SocketCapTests.capped)
    client.sendOnly(line)
    // No request waits longer.
    fixture.advance(by: .seconds(301))
    return client.replies.map(\.text)
  }

  @Test func `no line is answered with a word of the rest`() throws {
    var answered = 0
    for seed in 1...UInt64(TestRounds.of(200)) {
      let input = FuzzTarget.line.input(seed: seed, corpus: [])
      for line in input.split(separator: 0x0A) {
        for reply in replies(to: String(decoding: line, as: UTF8.self)) {
          answered += 1
          for word in rest where reply.contains(word) {
            Issue.record(
              "seed \(seed): \(String(decoding: line, as: UTF8.self)) got \(word): \(reply)")
          }
        }
      }
    }
    expect(answered > TestRounds.of(50), "\(answered)")
  }

  /// A name of the rest, where the same line with a name of nothing is answered in the same bytes.
  @Test func `a name of the rest is answered as a name of nothing`() throws {
    let lines = [
      #"{"profile":"*"}"#, #"{"profile":"*","refresh":true}"#, #"{"profile":"*","min_ttl":99}"#,
      #"{"profile":"*","user":"zebedee"}"#, #"{"op":"identity","profile":"*"}"#,
      #"{"op":"token","profile":"*","wait":0}"#, #"{"op":"watch","profile":"*"}"#,
      #"{"op":"endpoint","profile":"*"}"#, #"{"op":"check","profile":"*"}"#,
      #"{"op":"login","profile":"*","username":"zebedee","password":"x"}"#,
      #"{"op":"logout","profile":"*","global":true}"#, #"{"op":"release","profile":"*"}"#,
      #"{"op":"account","profile":"*","action":"get"}"#,
      #"{"op":"status","after":"1000/*"}"#, #"{"profile":"*","x":1}"#, #"{"profile":"* "}"#,
    ]
    for line in lines {
      for name in Self.hidden {
        let there = replies(to: line.replacing("*", with: name))
        let nowhere = replies(to: line.replacing("*", with: "nowhere1"))
        expect(there.count, equals: 1, "\(line)")
        expect(there.map { $0.replacing(name, with: "nowhere1") }, equals: nowhere, "\(line)")
      }
    }
    expect(Set(fixture.service.sessions.keys.map(\.profile)), equals: Set(Self.hidden))
  }
}
