import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Two events at the same instant, in both orders, at four points of a session's life.
struct EventPairTests {
  enum Event: CaseIterable {
    /// The backend moves to another server.
    case reload
    /// The profile is closed to the user.
    case withdrawal
    case logout
    /// The daemon gets SIGTERM.
    case stop
    /// The answer to the upstream call under way.
    case answer
    /// The same, and it is an error.
    case failure
    /// A client that waits disconnects.
    case leaving
    /// The wait of another client ends.
    case timer
    /// Another user asks.
    case otherUser
  }

  enum Start: CaseIterable {
    /// The first `get` of a user waits for the backend.
    case cold
    /// There are credentials, and a client wants new ones.
    case warm
    /// Credentials are renewed, and clients wait for that.
    case refresh
    /// A password is on its way.
    case login
  }

  private static let pairs = Event.allCases.flatMap { first in
    Event.allCases.filter { $0 != first }.map { (first, $0) }
  }

  @Test(arguments: Start.allCases)
  func twoEventsAtOnceLoseNothingInEitherOrder(_ start: Start) throws {
    expect(Self.pairs.count, equals: 72)
    for (first, second) in Self.pairs {
      let world = try EventPairWorld(start)
      try world.happens(first)
      try world.happens(second)
      try world.end("\(start): \(first), \(second)")
    }
  }
}

/// A service with two users, at one of the starting points.
private final class EventPairWorld {
  private let fixture: ServiceFixture
  private let start: EventPairTests.Start
  /// The one whose answer is awaited, the one whose wait ends first, and one that asked nothing yet.
  private let first: TestClient
  private let hasty: TestClient
  private let idle: TestClient
  private let bob: TestClient
  /// A client of the first user that watches.
  private let watcher: TestClient
  /// When the hasty client's wait ends.
  private var instant = Instant.distantFuture
  private var server = "127.0.0.1"
  private var isWithdrawn = false
  private var happened: [EventPairTests.Event] = []
  /// Replies of each of alice's clients before she signed out, and before her right ended.
  private var repliesBeforeLogout: [Int]?
  private var repliesBeforeWithdrawal: [Int]?
  /// To whom Cognito gave credentials, and which server gave a session token.
  private var identityOfKey: [String: String] = [:]
  private var serverOfToken: [String: String] = [:]
  private var misdirected: [String] = []

  init(_ start: EventPairTests.Start) throws {
    self.start = start
    fixture = try ServiceFixture(Self.text(start, server, isWithdrawn: false))
    (first, hasty) = (fixture.connect(pid: 1), fixture.connect(pid: 2))
    (idle, bob) = (fixture.connect(pid: 3), fixture.connect(uid: 1001, pid: 4))
    watcher = fixture.connect(pid: 5)
    let upstreams = fixture.host.upstreams
    fixture.host.http.answer = { [unowned self] in note(upstreams.answer($0), to: $0) }
    try begin()
    instant = fixture.now + .seconds(1)
    fixture.advance(by: .milliseconds(999))
    expect(first.isWaiting && fixture.host.http.underWay == 1, "\(start)")
  }

  private var text: String { Self.text(start, server, isWithdrawn: isWithdrawn) }

  private static func text(
    _ start: EventPairTests.Start, _ server: String, isWithdrawn: Bool
  ) -> String {
    let login =
      start == .login
      ? "login_url = http://\(server)/login\nlogout_url = http://\(server)/logout" : ""
    return Configured.http(backend: login, url: "http://\(server)/token")
      + Configured.profile(
        "default", identifier: "{user}", isWithdrawn ? "allow_users = bob" : "")
  }

  private func begin() throws {
    switch start {
    case .cold, .login: break
    case .warm:
      expect(try fixture.ask().accessKeyID != nil)
      fixture.advance(by: .seconds(60))
    case .refresh:
      expect(try fixture.ask().accessKeyID != nil)
      fixture.advance(by: .seconds(60))
      expect(try fixture.ask().accessKeyID != nil)
    }
    watcher.send(#"{"id":0,"op":"watch"}"#)
    fixture.host.http.holds = true
    if start == .refresh {
      let sent = fixture.host.http.requests.count
      while fixture.host.http.requests.count == sent { fixture.advance(by: .seconds(1)) }
    }
    let members =
      switch start {
      case .cold: ""
      case .warm: #","refresh":true"#
      case .refresh: #","min_ttl":3500"#
      case .login: #","op":"login","username":"alice","password":"alice-password""#
      }
    first.send(#"{"id":0\#(start == .login ? members : members + #","wait":30"#)}"#)
    first.send(#"{"id":1,"op":"identity"}"#)
    hasty.send(#"{"id":0,"wait":1\#(start == .login ? "" : members)}"#)
    hasty.send(#"{"id":1,"op":"identity"}"#)
  }

  // MARK: Events

  func happens(_ event: EventPairTests.Event) throws {
    happened.append(event)
    switch event {
    case .reload:
      server = "127.0.0.2"
      try fixture.reload(text)
    case .withdrawal:
      isWithdrawn = true
      repliesBeforeWithdrawal = [first, hasty, idle, watcher].map(\.replies.count)
      try fixture.reload(text)
    case .logout:
      repliesBeforeLogout = [first, hasty].map(\.replies.count)
      idle.sendOnly(#"{"id":0,"op":"logout"}"#)
    case .stop: fixture.service.dismissWaiters()
    case .answer: fixture.host.http.deliver()
    case .failure: fixture.host.http.deliver(.success(HTTPReply(status: 503, body: Secret("down"))))
    case .leaving: first.leave()
    case .timer: fixture.host.clock.advance(to: instant)
    case .otherUser: bob.sendOnly(#"{"id":0,"wait":\#(start == .login ? 0 : 30)}"#)
    }
  }

  /// Remembers what was given to whom, and that a session token returns to its server alone.
  private func note(_ answer: FakeHTTP.Answer, to request: HTTPRequest) -> FakeHTTP.Answer {
    let server = request.url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    if let token = request.header("Authorization")?.split(separator: " ").last.map(String.init),
      serverOfToken[token, default: server] != server
    {
      misdirected.append("\(token) to \(server)")
    }
    guard case .success(let reply) = answer.result,
      let json = try? JSONValue.parse(reply.body.bytes)
    else { return answer }
    if let key = json["Credentials"]?["AccessKeyId"]?.text {
      identityOfKey[key] = json["IdentityId"]?.text
    }
    if let token = json["SessionToken"]?.text { serverOfToken[token] = server }
    return answer
  }

  // MARK: Judgement

  func end(_ words: String) throws {
    let comment = Comment(rawValue: words)
    fixture.host.http.holds = false
    fixture.host.http.deliver()
    fixture.advance(by: .seconds(120))
    // The process ends.
    fixture.service.dismissWaiters()
    fixture.host.settle()
    judge(first, sent: 2, user: "alice", comment)
    judge(hasty, sent: 2, user: "alice", comment)
    judge(idle, sent: happened.contains(.logout) ? 1 : 0, user: "alice", comment)
    judge(bob, sent: happened.contains(.otherUser) ? 1 : 0, user: "bob", comment)
    judgeWatcher(comment)
    expect(misdirected.isEmpty, comment)
    expect(fixture.service.sessions.values.allSatisfy { $0.machine.waiterCount == 0 }, comment)
    expect(fixture.service.clients.users.values.allSatisfy { $0.waitingSessions.isEmpty }, comment)
    if let repliesBeforeLogout {
      let given = later(than: repliesBeforeLogout).filter { $0.accessKeyID != nil }
      expect(given.isEmpty || start == .login, comment)
    }
    if let repliesBeforeWithdrawal {
      for reply in later(than: repliesBeforeWithdrawal) {
        expect(reply["IdentityId"] == nil, "\(words): \(reply)")
        let isEnd = reply["Event"]?.text == "state" && reply.state == "signedOut"
        expect(
          isEnd || ["AccessDenied", "ShuttingDown"].contains(reply.errorCode), "\(words): \(reply)")
      }
    }
    try judgeNextProcess(comment)
  }

  /// What alice's clients got after so many replies.
  private func later(than counts: [Int]) -> [Reply] {
    zip([first, hasty, idle, watcher], counts).flatMap { $0.replies.dropFirst($1) }
  }

  /// Each line was answered once, in order, and holds nothing of anybody else.
  private func judge(_ client: TestClient, sent: Int, user: String, _ comment: Comment) {
    let ids = client.replies.map { $0["Id"]?.integer }
    if client.client != nil {
      expect(ids, equals: (0..<Int64(sent)).map { $0 }, comment)
      expect(!client.isWaiting, comment)
    } else {
      expect(ids.count <= sent, comment)
    }
    let identity = fixture.host.upstreams.identity(of: user)
    for reply in client.replies {
      expect(reply.errorCode != "Internal", comment)
      if let key = reply.accessKeyID {
        expect(identityOfKey[key], equals: identity, comment)
        // The secrets that came with this key.
        let number = Int(key.suffix(9)).map { "\($0)" } ?? "none"
        expect(reply["SecretAccessKey"]?.text, equals: "secret-" + number, comment)
        expect(reply["SessionToken"]?.text, equals: "session-" + number, comment)
      }
      if let shown = reply["IdentityId"]?.text { expect(shown, equals: identity, comment) }
    }
  }

  /// It hears of its own user alone, and of a failure that the session met.
  private func judgeWatcher(_ comment: Comment) {
    let identity = fixture.host.upstreams.identity(of: "alice")
    for reply in watcher.replies {
      expect(reply["Id"]?.integer == 0 && reply.errorCode != "Internal", comment)
      if let shown = reply["IdentityId"]?.text { expect(shown, equals: identity, comment) }
    }
    // Events after which the answer under way is nothing to the session.
    let ends: [EventPairTests.Event] = [.answer, .logout, .reload, .withdrawal]
    let place = happened.firstIndex(of: .failure)
    guard start != .login, let place, !happened[..<place].contains(where: ends.contains) else {
      return
    }
    expect(watcher.replies.contains { $0["Event"]?.text == "degraded" }, comment)
  }

  /// Nothing is lost, and who signed out stays signed out.
  private func judgeNextProcess(_ comment: Comment) throws {
    let reported = try fixture.ask(#"{"op":"identity"}"#)
    try fixture.restart(text)
    expect(
      try fixture.ask(#"{"op":"identity"}"#)["IdentityId"], equals: reported["IdentityId"], comment)
    let reply = try fixture.ask(#"{"wait":1}"#)
    if isWithdrawn {
      expect(reported.errorCode == "AccessDenied" && reply.errorCode == "AccessDenied", comment)
    } else if start != .login {
      let isSignedOut = happened.contains(.logout)
      expect((reply.errorCode == "SignInRequired"), equals: isSignedOut, comment)
      expect((reply.accessKeyID != nil), equals: !isSignedOut, comment)
      expect(try fixture.ask(uid: 1001).accessKeyID != nil, comment)
    } else if reported.state != "signedIn" {
      expect(reply.errorCode, equals: "SignInRequired", comment)
    } else {
      expect(reply.accessKeyID != nil, comment)
    }
    if let key = reply.accessKeyID {
      expect(identityOfKey[key], equals: fixture.host.upstreams.identity(of: "alice"), comment)
    }
  }
}
