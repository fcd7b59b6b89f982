import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What there is over a socket with a cap, and what is not.
struct SocketCapTests {
  static let path = "/run/credd-agents/sock"
  static let capped = ClientSocket(path: UnixSocketPath(path), name: "capped")

  static func text(
    _ socket: String = "profiles = narrow", others: String = Configured.profile("wide"),
    profile: String = ""
  ) -> String {
    Configured.http() + Configured.profile("narrow", profile) + others
      + (socket.isEmpty ? "" : "[socket \(path)]\n\(socket)\n")
  }

  /// Every operation that a socket can have.
  private static let all = "profiles = narrow\noperations = get identity ping watch token endpoint"

  // MARK: Profiles

  @Test func `a profile of the socket is served as elsewhere, and no other`() throws {
    let fixture = try ServiceFixture(Self.text())
    let client = fixture.connect(at: Self.capped)
    let key = try #require(client.ask(#"{"profile":"narrow"}"#).accessKeyID)
    expect(try fixture.ask(#"{"profile":"narrow"}"#).accessKeyID, equals: key)
    expect(try fixture.ask(#"{"profile":"wide"}"#).accessKeyID != nil)
    let calls = fixture.host.http.requests.count
    let there = try client.ask(#"{"profile":"wide"}"#)
    let nowhere = try client.ask(#"{"profile":"none"}"#)
    expect(there.errorCode, equals: "AccessDenied")
    expect(there.text.replacing("wide", with: "none"), equals: nowhere.text)
    expect(fixture.host.http.requests.count, equals: calls)
  }

  /// Else the time of an answer would show which profiles there are.
  @Test func `a profile outside of the socket is looked up as one that is nowhere`() throws {
    let rules = Configured.profile("wide", "allow_groups = mail\nallow_units = a.service")
    let fixture = try ServiceFixture(
      Self.text("profiles = narrow", others: rules, profile: "allow_users = alice"))
    fixture.host.queries.setGroups([8], of: 1000)
    let asked = ["wide", "none"].map { name in
      fixture.advance(by: .seconds(120))
      let before = fixture.host.queries.asked.count
      _ = try? fixture.connect(groups: [8], at: Self.capped).ask(#"{"profile":"\#(name)"}"#)
      return fixture.host.queries.asked.dropFirst(before).map { "\($0)" }
    }
    // The rules of the rest play no part: no group is looked up.
    expect(asked, equals: [["\(UserQuery(.uid(1000)))"], ["\(UserQuery(.uid(1000)))"]])
  }

  @Test func `who may use a profile is said by the profile`() throws {
    let fixture = try ServiceFixture(Self.text(profile: "allow_users = bob"))
    let reply = try fixture.connect(at: Self.capped).ask(#"{"profile":"narrow"}"#)
    expect(reply.errorCode, equals: "AccessDenied")
  }

  @Test func `with one profile a request without a name means that one`() throws {
    let fixture = try ServiceFixture(Self.text(Self.all, others: Configured.profile("default")))
    let client = fixture.connect(at: Self.capped)
    let own = try #require(client.ask("{}").accessKeyID)
    expect(try client.ask(#"{"op":"identity"}"#)["Profile"]?.text, equals: "narrow")
    expect(try client.ask(#"{"op":"token"}"#)["Token"] != nil)
    // On the main socket the same line means another one, before and after.
    let main = try #require(fixture.ask("{}").accessKeyID)
    expect(main != own)
    expect(try client.ask("{}").accessKeyID, equals: own)
    expect(try fixture.ask("{}").accessKeyID, equals: main)
    expect(try client.ask(#"{"profile":"default"}"#).errorCode, equals: "AccessDenied")
  }

  @Test func `with several a request without a name means default`() throws {
    let others = Configured.profile("wide") + Configured.profile("default")
    let without = try ServiceFixture(Self.text("profiles = narrow wide", others: others))
    expect(try without.connect(at: Self.capped).ask("{}").errorCode, equals: "AccessDenied")
    let with = try ServiceFixture(Self.text("profiles = narrow default", others: others))
    let key = try #require(with.connect(at: Self.capped).ask("{}").accessKeyID)
    expect(try with.ask("{}").accessKeyID, equals: key)
  }

  // MARK: Operations

  @Test(arguments: [
    #"{"op":"token"}"#, #"{"op":"watch"}"#, #"{"op":"endpoint"}"#, #"{"op":"status"}"#,
    #"{"op":"status","all":true}"#, #"{"op":"metrics"}"#, #"{"op":"check"}"#,
    #"{"op":"check","all":true}"#, #"{"op":"login"}"#, #"{"op":"logout"}"#, #"{"op":"release"}"#,
    #"{"op":"clear","what":"identity"}"#, #"{"op":"account","action":"get"}"#,
    #"{"op":"respond","handle":"00112233445566778899aabbccddeeff","cancel":true}"#,
    // What is wrong with it besides is not said, nor what there is in its place.
    #"{"op":"status","limit":0}"#, #"{"op":"statu"}"#, #"{"op":"fly"}"#,
  ])
  func `an operation that the socket does not have is refused in the same words`(
    _ line: String
  ) throws {
    let fixture = try ServiceFixture(Self.text())
    // Root and an administrator are nobody else there.
    for uid in [1000, 0] as [UInt32] {
      let reply = try fixture.connect(uid: uid, at: Self.capped).ask(line)
      expect(
        reply.text,
        equals: #"{"Version":1,"Error":{"Code":"AccessDenied","Message":"this operation is not "#
          + #"available over this socket","Kind":"denied"}}"#)
    }
    expect(fixture.host.http.requests.isEmpty)
  }

  @Test func `nobody acts for others there`() throws {
    let rule = "allow_users = alice bob\nimpersonate = alice"
    let fixture = try ServiceFixture(Self.text(profile: rule))
    expect(try fixture.ask(#"{"profile":"narrow","user":"bob"}"#).accessKeyID != nil)
    let client = fixture.connect(at: Self.capped)
    let refused = try client.ask(#"{"profile":"narrow","user":"bob"}"#)
    expect(refused.errorCode, equals: "AccessDenied")
    // Also not in one's own name, and not where there is no such user or profile.
    for (profile, user) in [("narrow", "alice"), ("wide", "bob"), ("none", "nobody-there")] {
      let line = #"{"profile":"\#(profile)","user":"\#(user)"}"#
      expect(try client.ask(line).text, equals: refused.text)
    }
  }

  @Test func `ping names what there is`() throws {
    let fixture = try ServiceFixture(
      Self.text(
        "profiles = wide narrow closed",
        others: Configured.profile("wide")
          + Configured.profile("closed", "allow_users = bob")))
    let reply = try fixture.connect(at: Self.capped).ask(#"{"op":"ping"}"#)
    expect(reply["Daemon"]?["Pid"]?.integer, equals: 7)
    expect(reply["Operations"]?.texts, equals: ["get", "identity", "ping"])
    let profiles = (0..<(reply["Profiles"]?.count ?? 0)).map {
      reply["Profiles"]?[$0]?["Profile"]?.text
    }
    expect(profiles, equals: ["narrow", "wide"])
    for word in ["closed", "status", "login", "watch", "token"] {
      expect(!reply.text.contains(word), "\(word): \(reply)")
    }
    // The main socket's names all operations, and no profiles.
    let main = try fixture.ask(#"{"op":"ping"}"#)
    expect(main["Operations"]?.texts.contains("login") == true && main["Profiles"] == nil)
  }

  @Test func `a sign-in is made elsewhere`() throws {
    let backend = "login_url = http://127.0.0.1/login\nlogout_url = http://127.0.0.1/logout"
    let fixture = try ServiceFixture(
      Configured.http(backend: backend) + Configured.profile("narrow")
        + "[socket \(Self.path)]\n\(Self.all)\n")
    let client = fixture.connect(at: Self.capped)
    let reply = try client.ask(#"{"wait":0}"#)
    expect(reply.errorCode, equals: "SignInRequired")
    expect(reply.errorMessage, equals: "nobody is signed in: sign in outside of this socket")
    // A client that waits for one gets what comes of it.
    client.send(#"{"wait":60}"#)
    _ = try fixture.ask(
      #"{"op":"login","profile":"narrow","username":"alice","password":"alice-password"}"#)
    fixture.advance(by: .seconds(1))
    expect(try client.next().accessKeyID != nil)
  }

  // MARK: Watches

  @Test func `a watch is of the socket's profiles`() throws {
    let fixture = try ServiceFixture(Self.text(Self.all))
    for profile in ["narrow", "wide"] { _ = try fixture.ask(#"{"profile":"\#(profile)"}"#) }
    let client = fixture.connect(at: Self.capped)
    expect(try client.ask(#"{"op":"watch"}"#)["Profile"]?.text, equals: "narrow")
    for profile in ["wide", "narrow"] {
      _ = try fixture.ask(#"{"op":"clear","what":"credentials","profile":"\#(profile)"}"#)
      _ = try fixture.ask(#"{"profile":"\#(profile)"}"#)
    }
    // Access is decided again, and a new session begins.
    fixture.advance(by: .seconds(70))
    _ = try fixture.ask(#"{"profile":"wide","refresh":true}"#)
    expect(client.replies.count > 1)
    expect(client.replies.allSatisfy { $0["Profile"]?.text == "narrow" }, "\(client.replies)")
    let refused = try fixture.connect(at: Self.capped).ask(#"{"op":"watch","profile":"wide"}"#)
    expect(refused.errorCode, equals: "AccessDenied")
  }

  // MARK: Allowances

  @Test func `waits over the socket leave those of others free`() throws {
    let limit = Limits.Client.waitingSessions
    let names = (0...limit).map { "p\($0)" }
    let profiles = names.map { Configured.profile($0) }.joined()
    let fixture = try ServiceFixture(
      Self.text("profiles = \(names.joined(separator: " "))", others: profiles))
    fixture.host.upstreams.faults["token"] = .hang
    let waiting = names.dropLast().map { name in
      let client = fixture.connect(at: Self.capped)
      client.send(#"{"profile":"\#(name)","wait":60}"#)
      return client
    }
    expect(waiting.allSatisfy(\.isWaiting))
    let line = #"{"profile":"p\#(limit)","wait":60}"#
    let refused = try fixture.connect(at: Self.capped).ask(line)
    expect(refused.errorCode, equals: "TooManyRequests")
    let main = fixture.connect()
    main.send(line)
    expect(main.isWaiting)
  }

  @Test func `calls that the socket's clients force leave the user's own free`() throws {
    // Of each session a refresh is made once a second.
    let names = (0...Limits.User.calls).map { "p\($0)" }
    let fixture = try ServiceFixture(
      Self.text(
        "profiles = \(names.joined(separator: " "))",
        others: names.map { Configured.profile($0) }.joined()))
    let client = fixture.connect(at: Self.capped)
    let codes = try names.map {
      try client.ask(#"{"profile":"\#($0)","refresh":true}"#).errorCode
    }
    expect(codes.first == .some(nil) && codes.last == "TooManyRequests", "\(codes)")
    expect(try fixture.ask(#"{"profile":"narrow","refresh":true}"#).errorCode == nil)
  }

  @Test func `the journal says over which socket`() throws {
    let fixture = try ServiceFixture(Self.text())
    _ = try fixture.connect(at: Self.capped).ask(#"{"profile":"narrow"}"#)
    _ = try fixture.connect(pid: 43).ask(#"{"profile":"narrow"}"#)
    let given = fixture.host.log.entries.filter { $0.message == "credentials given" }
    expect(given.map { $0["socket"] }, equals: [Self.path, nil])
  }
}

extension JSONValue {
  /// The texts of an array.
  fileprivate var texts: [String] { (0..<(count ?? 0)).compactMap { self[$0]?.text } }
}
