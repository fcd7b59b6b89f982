import TestSupport
import Testing

@testable import CredCore

/// Sockets with a cap: `[socket PATH]`.
struct SocketConfigurationTests {
  /// The section begins in line 3.
  private func text(_ header: String, _ keys: String = "profiles = p") -> String {
    plainProfile + "[\(header)]\n\(keys)\n"
  }

  private func problems(_ header: String, _ keys: String = "profiles = p") -> [String] {
    CredCoreTests.problems(text(header, keys))
  }

  @Test func aSocketHasProfilesAndOperations() throws {
    let plain = try #require(reading(text("socket /run/agents/sock")).configuration)
    let socket = try #require(plain.sockets[UnixSocketPath("/run/agents/sock")])
    expect(plain.sockets.count == 1 && socket.profiles == ["p"])
    expect(socket.operations, equals: [.get, .ping, .identity])
    expect("\(socket.position) \(socket.title)", equals: "credd.conf:3 [socket /run/agents/sock]")
    let keys = "profiles = p\noperations = get watch token endpoint"
    let chosen = try #require(reading(text("socket /run/agents/sock", keys)).configuration)
    expect(
      chosen.sockets.values.map(\.operations), equals: [[.get, .watch, .token, .endpoint]])
  }

  @Test func aProfileMayComeLaterAndInAnotherFile() {
    let files = [
      ("credd.conf", "[socket /run/agents/sock]\nprofiles = p\n"),
      ("credd.conf.d/p.conf", plainProfile),
    ]
    expect(reading(files).diagnostics, equals: [])
  }

  @Test(arguments: [
    ("socket", "a path must follow: [socket PATH]"),
    ("socket /run/a b", "the path is one word, without blanks: choose another one"),
    ("socket run/a/sock", "the path is not absolute: begin it with '/'"),
    ("socket @a", "the path is not absolute: begin it with '/'"),
    (
      "socket /run/${A}/sock", "variables are not replaced in a header: write the whole path"
    ),
  ])
  func aWrongHeaderSaysWhatToWrite(_ header: String, _ fault: String) {
    expect(problems(header), equals: ["credd.conf:3: '[\(header)]': \(fault)"])
  }

  @Test(arguments: ["/run//a/sock", "/run/./a/sock", "/run/../a/sock", "/run/a/", "/"])
  func aPathIsWrittenAsTheKernelGivesIt(_ path: String) {
    expect(
      problems("socket \(path)"),
      equals: [
        "credd.conf:3: '[socket \(path)]': write the path as the kernel gives it, without '//', '.', "
          + "'..' and a '/' at its end"
      ])
  }

  @Test func aPathHasAtMost107Bytes() {
    let longest = "/run/" + String(repeating: "é", count: 51)
    expect(longest.utf8.count, equals: 107)
    expect(problems("socket \(longest)"), equals: [])
    let problem = problems("socket \(longest)x")
    expect(
      problem.count == 1
        && problem[0].hasSuffix(
          ": the path has 108 bytes, and that of a Unix socket at most 107: choose a shorter one"),
      "\(problem)")
  }

  @Test func eachMistakeIsNamedWithItsKey() {
    expect(
      problems("socket /run/a/sock", "operations = get"),
      equals: [
        "credd.conf:3: '[socket /run/a/sock]' lacks 'profiles', a list, each word a profile's name"
      ])
    expect(
      problems("socket /run/a/sock", "profiles = p, q pp p"),
      equals: [
        "credd.conf:4: profiles: there is no [profile q]; did you mean 'p'?",
        "credd.conf:4: profiles: there is no [profile pp]; did you mean 'p'?",
        "credd.conf:4: profiles: 'p' occurs twice",
      ])
    expect(
      problems("socket /run/a/sock", "profiles = p\noperations = get logn"),
      equals: [
        "credd.conf:5: operations: 'logn' is not known; known are get, identity, ping, watch, token, "
          + "endpoint"
      ])
    for word in ["login", "status", "none"] {
      let found = problems("socket /run/a/sock", "profiles = p\noperations = \(word)")
      expect(found.count == 1 && found[0].hasPrefix("credd.conf:5: operations: '\(word)' is not "))
    }
    expect(
      problems("socket /run/a/sock", "profiles = p\noperation = get"),
      equals: [
        "credd.conf:5: unknown key 'operation' in '[socket /run/a/sock]'; did you mean 'operations'?"
      ])
  }

  // MARK: Folders

  @Test(arguments: [
    "/run/a/two", "/run/a/b/sock", "/run/sock", "/sock",
  ])
  func twoSocketsShareNoFolder(_ path: String) {
    let second = "[socket \(path)]\nprofiles = p\n"
    expect(
      CredCoreTests.problems(text("socket /run/a/sock") + second),
      equals: [
        "credd.conf:5: [socket \(path)]: [socket /run/a/sock] of credd.conf:3 is in the same folder, "
          + "or in one below, and who gets a folder mounted gets both: give each socket a folder of "
          + "its own"
      ])
  }

  @Test func foldersSideBySideAreTwo() {
    expect(
      CredCoreTests.problems(text("socket /run/a/sock") + "[socket /run/ab/sock]\nprofiles = p\n"),
      equals: [])
  }

  private func beside(
    _ others: [(String, isOwn: Bool)] = [], passed: [String]? = nil, _ path: String = "/run/a/sock",
    daemon: String = "", resolved: (UnixSocketPath) -> UnixSocketPath = { $0 }
  ) -> [String] {
    let neighbours = SocketNeighbours(
      others: others.map {
        .init(UnixSocketPath($0.0), name: "the socket \($0.0)", isOwn: $0.isOwn)
      },
      passed: passed.map { Set($0.map { UnixSocketPath($0) }) })
    let reading = reading(text("socket \(path)") + daemon).beside(neighbours, resolved: resolved)
    let found = reading.diagnostics.map(\.description)
    expect((reading.configuration == nil) == !found.isEmpty)
    return found
  }

  private func shared(_ other: String) -> String {
    "credd.conf:3: [socket /run/a/sock]: the socket \(other) is in the same folder, or in one below, "
      + "and who gets a folder mounted gets both: give each socket a folder of its own"
  }

  @Test func theDaemonsOwnSocketsAreElsewhere() {
    // Who gets the daemon's own folder mounted has no less than everything.
    for other in ["/run/credd/credd.sock", "/run/x"] { expect(beside([(other, true)]), equals: []) }
    for other in ["/run/a/credd.sock", "/run/a/sock", "/run/a/b/credd.sock"] {
      expect(beside([(other, true)]), equals: [shared(other)], "\(other)")
    }
    // A socket that systemd passes under another name is closed where it has the section's path.
    expect(beside([("/run/a/sock", false)]), equals: [])
    expect(beside([("/run/a/x", false)]), equals: [shared("/run/a/x")])
  }

  /// `/var/run` is a link to `/run`.
  @Test func aLinkHidesNoFolder() {
    let found = beside([("/var/run/a/credd.sock", true)]) { path in
      path.bytes.starts(with: "/var".utf8)
        ? UnixSocketPath(kernelName: path.bytes.dropFirst(4)) : path
    }
    expect(found, equals: [shared("/var/run/a/credd.sock")])
  }

  @Test func aDaemonThatEndsOnIdleBindsNoSocketOfItsOwn() {
    let daemon = "[daemon]\nexit_on_idle = 1h\n"
    let error =
      "credd.conf:6: exit_on_idle: systemd does not pass [socket /run/a/sock], so nothing would start "
      + "credd for a client there: let a socket unit with FileDescriptorName=capped listen at this "
      + "path, or remove exit_on_idle"
    expect(beside(passed: [], daemon: daemon), equals: [error])
    expect(beside(passed: ["/run/a/sock2"], daemon: daemon), equals: [error])
    expect(beside(passed: ["/run/a/sock"], daemon: daemon), equals: [])
    expect(beside(passed: []), equals: [])
    // A check is passed nothing.
    expect(beside(passed: nil, daemon: daemon), equals: [])
  }

  @Test func pathsAreComparedByteForByte() {
    // One letter, and the letter with its accent as another character.
    let (one, two) = (UnixSocketPath("/run/\u{E9}"), UnixSocketPath("/run/e\u{301}"))
    expect(one != two && Set([one, two]).count == 2)
    expect(UnixSocketPath(kernelName: [0x2F, 0x61, 0, 0x62]), equals: UnixSocketPath("/a"))
    expect(UnixSocketPath(kernelName: [0, 0x61, 0x62]), equals: UnixSocketPath("@ab"))
    expect(UnixSocketPath(kernelName: [0x2F, 0xFF]) != UnixSocketPath("/\u{FFFD}"))
  }

  @Test func thereAreAtMost64() {
    let most = Limits.Configuration.sockets
    let sections = (0...most).map { "[socket /run/a\($0)/sock]\nprofiles = p\n" }
    expect(CredCoreTests.problems(plainProfile + sections.dropLast().joined()), equals: [])
    expect(
      CredCoreTests.problems(plainProfile + sections.joined()),
      equals: ["credd.conf:\(3 + 2 * most): more than \(most) sockets with a cap"])
  }
}
