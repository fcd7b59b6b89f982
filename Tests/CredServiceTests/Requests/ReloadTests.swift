import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Another configuration while clients wait, watch and are answered from the cache.
struct ReloadTests {
  @Test func `a profile that did not change goes on untouched`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let before = try client.ask("{}")
    expect(try client.ask("{}"), equals: before)
    let outcome = try fixture.reload(
      Configured.usual(daemon: "max_connections = 100") + Configured.profile("second"))
    expect((outcome.added, outcome.changed, outcome.removed) == (1, 0, 0))
    expect(try client.ask("{}"), equals: before)
    expect(try fixture.ask(), equals: before)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
    expect(try fixture.ask(#"{"profile":"second"}"#).accessKeyID != nil)
  }

  // MARK: Files that were not read again

  private static let note =
    "credd's configuration has changed since it was read: 'reload it' applies it"

  private func watch(_ fixture: ServiceFixture, haveChanged: Bool) {
    fixture.service.watchFiles(reloadedBy: "reload it") { haveChanged }
  }

  @Test func `who is refused is told of changed files, whoever asks and whatever there is`() throws
  {
    let fixture = try ServiceFixture(Configured.usual(profile: "allow_users = alice"))
    func refusal(_ name: String, _ uid: UInt32 = 1000) throws -> String? {
      try fixture.ask(#"{"profile":"\#(name)","wait":0}"#, uid: uid).errorMessage
    }
    watch(fixture, haveChanged: true)
    expect(
      try refusal("fresh"),
      equals: "there is no profile 'fresh'; known are default (\(Self.note))")
    for name in ["fresh", "default"] {
      expect(
        try refusal(name, 1001),
        equals: "profile '\(name)' is not available to 'bob' (\(Self.note))")
      expect(
        try fixture.ask(#"{"op":"check","profile":"\#(name)"}"#, uid: 1001).errorMessage,
        equals: try refusal(name, 1001))
    }
    // All in one second.
    expect(fixture.host.background.asked[.configuration], equals: 1)
    fixture.advance(by: .seconds(1))
    watch(fixture, haveChanged: false)
    expect(try refusal("fresh"), equals: "there is no profile 'fresh'; known are default")
    expect(try fixture.ask().accessKeyID != nil)
    expect(fixture.host.background.asked[.configuration], equals: 2)
  }

  @Test func `status and check tell of changed files, unless a reload was refused`() throws {
    let fixture = try ServiceFixture()
    watch(fixture, haveChanged: true)
    func told() throws -> [String?] {
      let status = try fixture.ask(#"{"op":"status"}"#)["Daemon"]?["ReloadNeeded"]?.text
      let check = try fixture.ask(#"{"op":"check"}"#, uid: 0)
      expect(check["Ok"]?.bool, equals: true)
      return [status, check.steps.first { $0.name == "configuration" }?.detail]
    }
    expect(try told(), equals: [Self.note, Self.note])
    fixture.service.refuseConfiguration(["it has an error"])
    expect(try told(), equals: [nil, nil])
    try fixture.reload(Configured.usual())
    watch(fixture, haveChanged: false)
    expect(try told(), equals: [nil, nil])
  }

  @Test func `a look that hangs delays one answer, and none for a minute`() throws {
    let fixture = try ServiceFixture()
    fixture.host.background.time[.configuration] = .some(nil)
    watch(fixture, haveChanged: true)
    for seconds in [1, 0, 0, 1] {
      let before = fixture.now
      let refusal = try fixture.ask(#"{"profile":"fresh","wait":0}"#).errorMessage
      expect(refusal, equals: "there is no profile 'fresh'; known are default")
      expect((fixture.now - before).components.seconds, equals: Int64(seconds))
      if seconds == 0 { fixture.advance(by: .seconds(30)) }
    }
  }

  /// What began before a reload says nothing after it. A client that leaves meanwhile gets no answer.
  @Test func `a look that a reload overtakes tells nothing`() throws {
    let fixture = try ServiceFixture()
    fixture.host.background.time[.configuration] = .milliseconds(500)
    watch(fixture, haveChanged: true)
    let (client, leaver) = (fixture.connect(), fixture.connect())
    for client in [client, leaver] { client.send(#"{"profile":"fresh","wait":0}"#) }
    expect(client.isWaiting && leaver.isWaiting)
    leaver.leave()
    watch(fixture, haveChanged: false)
    fixture.advance(by: .seconds(1))
    expect(
      try client.next().errorMessage, equals: "there is no profile 'fresh'; known are default")
    expect(leaver.replies.isEmpty)
  }

  @Test func `a removed profile ends with its waiters and watchers`() throws {
    let text = Configured.password()
    let fixture = try ServiceFixture(text + Configured.profile("gone"))
    let watcher = fixture.connect()
    let watch = try watcher.ask(#"{"op":"watch","profile":"gone"}"#)
    expect(watch["Event"]?.text == "state" && watch.state == "signedOut")
    let (waiter, signIn) = (fixture.connect(), fixture.connect())
    waiter.send(#"{"profile":"gone","wait":60,"id":3}"#)
    fixture.host.upstreams.delays["login"] = .seconds(1)
    signIn.send(
      #"{"op":"login","profile":"gone","username":"alice","password":"alice-password"}"#)
    expect(waiter.isWaiting && signIn.isWaiting)
    expect(try fixture.reload(text).removed, equals: 1)
    for client in [waiter, signIn, watcher] {
      expect(try client.next().errorCode, equals: "UnknownProfile")
    }
    expect(waiter.replies.last?["Id"]?.integer, equals: 3)
    expect(try fixture.ask(#"{"profile":"gone"}"#).errorCode, equals: "UnknownProfile")
    expect(fixture.service.sessions.isEmpty && fixture.service.owners.watches.byUser.isEmpty)
    // The call that was under way ends with no client left to tell.
    fixture.advance(by: .seconds(2))
    expect(fixture.upstream.callCount, equals: 0)
    expect(waiter.hasReadAll && signIn.hasReadAll && watcher.hasReadAll)
    // Another password may be tried at once.
    fixture.host.upstreams.delays = [:]
    let line = #"{"op":"login","username":"alice","password":"alice-password"}"#
    expect(try fixture.ask(line).state, equals: "signedIn")
  }

  @Test func `a client that is no longer allowed is refused at once`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    for _ in 0..<2 { expect(try client.ask("{}").accessKeyID != nil) }
    let watcher = fixture.connect()
    expect(
      try watcher.ask(#"{"op":"watch","profile":"default"}"#)["Event"]?.text, equals: "state")
    try fixture.reload(Configured.usual(profile: "allow_users = 65533"))
    expect(try client.ask("{}").errorCode, equals: "AccessDenied")
    expect(try watcher.next().errorCode, equals: "AccessDenied")
    // Allowed again, the session is still there.
    try fixture.reload(Configured.usual())
    expect(try client.ask("{}").accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `a client that waits and is no longer allowed is refused, the others wait on`() throws
  {
    let fixture = try ServiceFixture(Configured.password())
    let (alice, bob) = (fixture.connect(), fixture.connect(uid: 1001))
    for client in [alice, bob] { client.send(#"{"wait":120}"#) }
    try fixture.reload(Configured.password(profile: "allow_users = bob"))
    expect(try alice.next().errorCode, equals: "AccessDenied")
    expect(bob.isWaiting && bob.replies.isEmpty)
    let waiters = fixture.service.sessions.values.reduce(0) { $0 + $1.machine.waiterCount }
    expect(waiters, equals: 1)
  }

  @Test func `a backend that is mended is used at once`() throws {
    let broken =
      Configured.http(url: "http://127.0.0.1/nothing-here") + Configured.profile("default")
    let fixture = try ServiceFixture(broken)
    expect(try fixture.ask(#"{"wait":3}"#).errorCode != nil)
    try fixture.reload(Configured.usual())
    expect(try fixture.ask(#"{"wait":3}"#).accessKeyID != nil)
  }

  @Test func `a refresh under way across a reload serves its clients`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"wait":30}"#)
    try fixture.reload(Configured.usual() + Configured.profile("second"))
    expect(client.isWaiting)
    fixture.advance(by: .seconds(1))
    expect(try client.next().accessKeyID != nil)
    expect(fixture.host.upstreams.calls("token"), equals: 1)
  }

  @Test func `a client that is looked up across a reload is decided by the new rules`() throws {
    let text = Configured.http() + Configured.profile("default", identifier: "{user}")
    let fixture = try ServiceFixture(text)
    fixture.host.background.time[.users] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"wait":30}"#)
    try fixture.reload(
      Configured.http() + Configured.profile("default", identifier: "{user}", "allow_users = bob"))
    fixture.advance(by: .seconds(1))
    expect(try client.next().errorCode, equals: "AccessDenied")
    expect(fixture.service.sessions.isEmpty)
  }

  @Test func `a refused configuration is said to administrators alone`() throws {
    let fixture = try ServiceFixture()
    fixture.service.refuseConfiguration([
      "credd.conf:2: unknown key 'max_conections'", "credd.conf:3: unknown key 'timeot'",
    ])
    let line = #"{"op":"status"}"#
    expect(
      try fixture.ask(line, uid: 0)["Daemon"]?["ReloadError"]?.text?.contains("1 more") == true)
    expect(try fixture.ask(line)["Daemon"]?["ReloadError"] == nil)
    expect(fixture.service.summary.text.contains("configuration not reloaded"))
    // Who misses a new profile learns that it is not in force, and no more.
    let notice = " (the newest configuration is not in use: see 'systemctl status credd')"
    let missing = #"{"profile":"new"}"#
    for uid: UInt32 in [0, 1000] {
      let told = try fixture.ask(missing, uid: uid)
      expect(told.errorCode, equals: "UnknownProfile")
      expect(told.errorMessage?.hasSuffix(notice) == true, "\(told.errorMessage ?? "")")
    }
    // Mended, the complaint is gone.
    try fixture.reload(Configured.usual())
    expect(try fixture.ask(missing).errorMessage?.hasSuffix(notice) == false)
    expect(try fixture.ask(line, uid: 0)["Daemon"]?["ReloadError"] == nil)
  }

  @Test func `credentials of a profile with another role are fetched anew`() throws {
    let role = "role_arn = arn:aws:iam::123456789012:role/"
    let fixture = try ServiceFixture(Configured.usual(profile: role + "one"))
    let before = try fixture.ask()
    expect(try fixture.reload(Configured.usual(profile: role + "two")).changed, equals: 1)
    let after = try fixture.ask()
    expect(after.accessKeyID != nil && after != before)
    let exchange = fixture.host.http.requests.last { $0.operation == "GetCredentialsForIdentity" }
    expect(exchange?.json?["CustomRoleArn"]?.text, equals: "arn:aws:iam::123456789012:role/two")
  }

  @Test func `who could use a profile is told what became of it`() throws {
    let closed = Configured.profile("other", "allow_users = carol")
    let fixture = try ServiceFixture(Configured.usual() + closed)
    expect(try fixture.ask().accessKeyID != nil)
    try fixture.reload(Configured.usual(profile: "allow_users = carol") + closed)
    let withdrawn = try fixture.ask()
    expect(withdrawn.errorCode, equals: "AccessDenied")
    expect(
      withdrawn.errorMessage?.hasPrefix("profile 'default' is no longer available to you: ") == true
    )
    try fixture.reload(Configured.http() + closed)
    expect(
      try fixture.ask().errorMessage, equals: "profile 'default' was removed from the configuration"
    )
    // Another user learns neither.
    let stranger = try fixture.ask(uid: 1001).errorMessage
    expect(stranger, equals: "profile 'default' is not available to 'bob'")
  }
}
