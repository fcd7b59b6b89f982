import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// One daemon after another: what the second knows of the first.
@Suite(.onStage)
struct RestartTests {
  @Test(arguments: [SIGTERM, SIGKILL])
  func nextGetIsAnsweredFromTheCache(_ signal: Int32) throws {
    let host = try TestHost(managed: true)
    let credentials = try host.credentials()
    let token = try host.ask(#"{"op":"token"}"#)
    let calls = try host.sandbox.allCalls
    for _ in 0..<3 {
      try host.restart(by: signal)
      expect(try host.credentials(), equals: credentials)
      expect(try host.ask(#"{"op":"token"}"#), equals: token)
      expect(try host.state(), equals: "signedIn")
    }
    expect(try host.sandbox.allCalls, equals: calls)
    expect(try host.credentials(refresh: true) != credentials)
    expect(!host.log.contains("warning"))
    expect(host.manager?.stored.count, equals: 1)
  }

  @Test func refreshGoesOnUnattended() throws {
    let host = try TestHost(sandbox: ["--credential-lifetime", "8"], managed: true)
    let first = try host.ask()
    // Asked once more, it counts as in use; the next daemon is asked nothing until it was renewed.
    expect(try host.ask(), equals: first)
    try host.restart(by: SIGKILL)
    try Deadline.usual.wait(for: "the refresh") { host.log.contains("credentials refreshed") }
    let second = try host.ask()
    expect(second["AccessKeyId"] != nil)
    expect(second != first)
    expect(try host.sandbox.exchanges, equals: 2)
  }

  @Test func aClientThatConnectsMeanwhileIsAnsweredAfterwards() throws {
    let host = try TestHost(managed: true)
    let credentials = try host.credentials()
    let calls = try host.sandbox.allCalls
    var waiting: [StreamSocket] = []
    try host.restart(by: SIGKILL) {
      for _ in 0..<20 {
        let socket = try host.connect()
        try socket.send("{}\n")
        waiting.append(socket)
      }
    }
    for socket in waiting { expect(try socket.reply(), equals: credentials) }
    expect(try host.sandbox.allCalls, equals: calls)
  }

  /// Those behind one that waits have been read too.
  @Test func requestsThatWereSentAheadAreAllAnsweredAtTheEnd() throws {
    let host = try TestHost()
    try host.sandbox.plan(#"{"Service":"backend","Kind":"hang"}"#)
    let client = try host.connect()
    try client.send((0..<6).map { #"{"wait":300,"id":\#($0)}"# + "\n" }.joined())
    try Deadline.usual.wait(for: "the callback") { try host.sandbox.callbacks == 1 }
    host.daemon.send(SIGTERM)
    for id in 0..<6 {
      let reply = try client.reply()
      expect(reply.errorCode, equals: "ShuttingDown")
      expect(reply["Id"]?.number, equals: Double(id))
    }
    expect(client.isClosed())
    expect(try host.daemon.wait(), equals: 0)
  }

  @Test func passwordSessionIsStillGood() throws {
    let host = try TestHost(sandbox: ["--require-session"], managed: true) {
      Configuration.password($0)
    }
    let identity = try host.logIn("alice")["IdentityId"]
    let first = try host.credentials()
    try host.restart(by: SIGKILL)
    expect(try host.credentials(), equals: first)
    // The session's token goes to the backend with the next callback.
    expect(try host.ask(#"{"op":"clear","what":"identity"}"#)["Error"] == nil)
    let second = try host.credentials()
    expect(second != first)
    expect(try host.issued(second)["IdentityId"], equals: identity)
    expect(try host.sandbox.calls("backend.login"), equals: 1)
  }

  @Test func nothingOfASecretStaysAfterALogout() throws {
    let host = try TestHost(sandbox: ["--require-session"], managed: true) {
      Configuration.password($0)
    }
    let manager = try #require(host.manager)
    _ = try host.logIn("alice")
    let first = try host.credentials()
    let second = try host.credentials(refresh: true)
    let token = try #require(try host.ask(#"{"op":"token"}"#)["Token"]?.text)
    let bearer = try #require(
      try host.sandbox.lastRequest("token")["Headers"]?["Authorization"]?.text?
        .dropFirst("Bearer ".count))
    func secrets(of reply: JSON) throws -> [String] {
      try ["SecretAccessKey", "SessionToken"].map { try #require(reply[$0]?.text) }
    }
    // What a refresh replaced is gone at once.
    for secret in try secrets(of: first) { expect(try !manager.holds(secret)) }
    let current = try secrets(of: second) + [token, String(bearer)]
    for secret in current { expect(try manager.holds(secret)) }
    expect(try host.ask(#"{"op":"logout"}"#)["State"]?.text, equals: "signedOut")
    for secret in current { expect(try !manager.holds(secret)) }
    for secret in current { expect(try !manager.holds(String(secret.suffix(12)))) }
    let calls = try host.sandbox.allCalls
    try host.restart()
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.sandbox.allCalls, equals: calls)
  }

  @Test func logoutOfAHostsUserHoldsAcrossARestart() throws {
    let host = try TestHost(managed: true)
    _ = try host.credentials()
    _ = try host.ask(#"{"op":"logout"}"#)
    let calls = try host.sandbox.allCalls
    try host.restart(by: SIGKILL)
    expect(try host.state(), equals: "signedOut")
    expect(try host.ask(#"{"wait":0}"#).errorCode, equals: "SignInRequired")
    expect(try host.sandbox.allCalls, equals: calls)
  }

  /// systemd 252 drops its store when a service fails, and the runtime directory stays.
  @Test func sessionsOutliveADaemonThatCannotStart() throws {
    let folder = "/dev/shm/credd-restart-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try TestHost(environment: ["RUNTIME_DIRECTORY": folder], managed: true)
    let before = try host.credentials()
    for (key, option, status) in [
      ("no_such_key = 1\n", [], EX_CONFIG), ("no_such_key = 1\n", [], EX_CONFIG),
      ("", ["--no-such-option"], EX_USAGE),
    ] {
      try host.restart {
        try failToStart(host, folder, key: key, option: option, status: status)
      }
      expect(try host.credentials(), equals: before)
      expect(try FileManager.default.contentsOfDirectory(atPath: folder), equals: [])
    }
    expect(try host.sandbox.callbacks, equals: 1)
  }

  /// A daemon that cannot start leaves the sessions in the runtime directory, and systemd 252 drops
  /// what it has in store.
  private func failToStart(
    _ host: TestHost, _ folder: String, key: String = "no_such_key = 1\n", option: [String] = [],
    status: Int32 = EX_CONFIG
  ) throws {
    try host.configure { Configuration.usual($0) + key }
    let failed = try #require(host.manager).start(
      host.creddArguments + option, ["RUNTIME_DIRECTORY": folder])
    expect(try failed.wait(), equals: status)
    host.manager?.emptyStore()
    try host.configure { Configuration.usual($0) }
  }

  /// The calls by which a start changes what outlives the daemon, or what it relies on.
  private static let changes = [
    "memfd_create", "pwrite64", "ftruncate", "fallocate", "sendmsg", "unlinkat", "renameat",
  ]

  /// Before systemd 254 a service that ends has nothing in store, and the file of sessions alone.
  @Test(
    .enabled(if: Programs.installed("strace") != nil, "takes strace(1)"), arguments: changes)
  func aDaemonThatIsKilledAnywhereInItsStartLosesNoSession(_ change: String) throws {
    let folder = "/dev/shm/credd-restart-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try TestHost(environment: ["RUNTIME_DIRECTORY": folder], managed: true)
    let manager = try #require(host.manager)
    let before = try host.credentials()
    for number in 1...24 {
      var wasKilled = true
      try host.restart {
        try failToStart(host, folder)
        let daemon = try manager.start(
          try tracer(change, number) + host.creddArguments, ["RUNTIME_DIRECTORY": folder])
        try Deadline.usual.wait(for: "the end of a start") {
          daemon.status != nil || manager.isReady
        }
        wasKilled = daemon.status != nil
        daemon.send(SIGKILL)
        try daemon.wait()
      }
      expect(try host.credentials(), equals: before, "killed at \(change) number \(number)")
      guard wasKilled else { break }
    }
    expect(try host.sandbox.callbacks, equals: 1)
  }

  /// Kills what it starts when that makes a system call for the nth time. Its process is the one
  /// that is traced.
  private func tracer(_ call: String, _ number: Int) throws -> [String] {
    [
      try #require(Programs.installed("strace")), "-D", "-f", "-o",
      try Stage.current().newFile("trace"), "-e", "trace=\(call)", "-e",
      "inject=\(call):signal=KILL:when=\(number)",
    ]
  }

  @Test func everyPassedSocketIsServed() throws {
    let stage = try Stage.current()
    let sandbox = try Sandbox()
    let file = stage.newFile("credd.conf")
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    let paths = [stage.newFile("a"), stage.newFile("b")]
    let manager = try ServiceManager(listeningOn: paths)
    let daemon = try manager.start([Programs.credd, "--config", file], [:])
    for path in paths {
      let socket = try StreamSocket(unixPath: path)
      try socket.send("{}\n")
      expect(try socket.reply()["AccessKeyId"] != nil)
    }
    expect(daemon.errors.contains("credd.socket0 credd.socket1"))
    daemon.send(SIGTERM)
    expect(try daemon.wait(), equals: 0)
    expect(paths.allSatisfy { FileManager.default.fileExists(atPath: $0) })
  }

  // MARK: A limit on the size of files, as of LimitFSIZE= and limits.conf

  private static let profiles = (0..<6).map { "p\($0)" }

  /// Where a file may have 4 KiB, if there is a file of that name.
  private func hostWithLimit(from flag: String) throws -> TestHost {
    let limited = #"[ ! -e "$0" ] || ulimit -f 8; exec "$@""#
    return try TestHost(
      arguments: ["--log-level", "warning"], under: ["/bin/sh", "-c", limited, flag], managed: true
    ) { sandbox in
      Configuration.usual(sandbox)
        + Self.profiles.map { Configuration.profile($0, endpoint: sandbox.url) }.joined()
    }
  }

  private func askAll(_ host: TestHost) throws -> [JSON] {
    try Self.profiles.map { try host.ask(#"{"profile":"\#($0)"}"#) }
  }

  @Test func aLimitOnFilesCostsASessionItsRestartAlone() throws {
    let flag = try Stage.current().newFile("limited")
    try Data().write(to: URL(filePath: flag))
    let host = try hostWithLimit(from: flag)
    let before = try askAll(host)
    expect(before.allSatisfy { $0["AccessKeyId"] != nil })
    expect(
      host.log.contains(
        "warning: a session will not survive a restart, and its user would sign in again: write to the "
          + "session store: File too large: RLIMIT_FSIZE, or LimitFSIZE= of the unit"))
    try host.restart()
    expect(try askAll(host).allSatisfy { $0["AccessKeyId"] != nil })
    expect(host.daemon.status == nil)
  }

  @Test func aStoreFromBeforeTheLimitIsReadWhole() throws {
    let flag = try Stage.current().newFile("limited")
    let host = try hostWithLimit(from: flag)
    let before = try askAll(host)
    let manager = try #require(host.manager)
    let store = try #require(manager.stored.first).descriptor
    var facts = stat()
    expect(unsafe fstat(store, &facts), equals: 0)
    try #require(facts.st_size > 4096)
    // A daemon overwrites damage. Here it may not write.
    let damage = [UInt8](repeating: 0xAA, count: 64)
    expect(unsafe pwrite(store, damage, 64, off_t(facts.st_size + 8)), equals: 64)
    try Data().write(to: URL(filePath: flag))
    try host.restart()
    expect(try askAll(host), equals: before)
    expect(host.log.contains("stored sessions were damaged"), "\(host.log)")
    expect(!host.log.contains("are dropped"), "\(host.log)")
  }

  // MARK: Stores that are not as they should be

  @Test func ofTwoStoresOneStays() throws {
    let host = try TestHost(managed: true)
    let manager = try #require(host.manager)
    _ = try host.credentials()
    let second = try TestHost(managed: true)
    let other = try #require(second.manager?.stored.first)
    try host.restart(by: SIGKILL) {
      manager.store(fcntl(other.descriptor, F_DUPFD_CLOEXEC, 100), as: "sessions-b")
      expect(manager.stored.count, equals: 2)
    }
    try Deadline.usual.wait(for: "one store") { manager.stored.count == 1 }
    let credentials = try host.credentials()
    let calls = try host.sandbox.allCalls
    try host.restart(by: SIGKILL)
    expect(try host.credentials(), equals: credentials)
    expect(try host.sandbox.allCalls, equals: calls)
  }

  /// As a newer version may leave it, which an older one then finds.
  @Test func foreignDescriptorIsDroppedAndNamed() throws {
    let host = try TestHost(managed: true)
    let manager = try #require(host.manager)
    let credentials = try host.credentials()
    let calls = try host.sandbox.allCalls
    try host.restart(by: SIGKILL) {
      manager.store(unsafe open("/dev/null", O_RDWR | O_CLOEXEC), as: "mystery")
    }
    expect(try host.credentials(), equals: credentials)
    expect(try host.sandbox.allCalls, equals: calls)
    try Deadline.usual.wait(for: "its removal") {
      !manager.stored.contains { $0.name == "mystery" }
    }
    expect(host.log.contains("the unit has an OpenFile= name=mystery"))
  }

  // MARK: Another configuration

  @Test func sessionsOfAProfileThatIsGoneAreWiped() throws {
    let host = try TestHost(managed: true)
    let manager = try #require(host.manager)
    let secret = try #require(try host.credentials()["SecretAccessKey"]?.text)
    expect(try manager.holds(secret))
    try host.restart {
      try host.configure {
        Configuration.http(url: $0.url + "/token")
          + Configuration.profile("other", endpoint: $0.url)
      }
    }
    expect(try !manager.holds(secret))
    expect(host.log.contains("dropped=1"))
  }
}
