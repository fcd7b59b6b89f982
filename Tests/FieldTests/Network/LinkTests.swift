import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What takes a network of its own to go wrong: cables, routes, names, and bad lines.
@Suite(
  .onStage,
  .enabled(if: Link.canBe, "takes root, iproute2, nftables, util-linux and systemd-socket-proxyd"))
struct LinkTests {
  /// From the network's return to the answer of a `get`: a second from the last failure at an
  /// endpoint, five from the last one of a session, and as much again for a busy machine.
  private static let bound: Duration = .seconds(15)

  /// - Parameter url: how credd calls what is behind the link.
  private func host(
    _ url: String = Link.url, managed: Bool = false, isDisorderly: Bool = false,
    timeout: String = "2s"
  ) throws -> (TestHost, Link) {
    let path = try Stage.current().newFile("sandbox")
    let link = try Link(to: path, isDisorderly: isDisorderly)
    let host = try TestHost(
      sandbox: ["--unix-socket", path], under: try link.prefix, managed: managed
    ) {
      _ in
      OutageStory.configuration(
        backend: url + "/token", endpoint: url, timeout: timeout, backend: "allow_plain_http = yes",
        profile: "allow_plain_http = yes")
    }
    return (host, link)
  }

  @Test
  func noRoute() throws {
    let (host, link) = try host()
    let story = try OutageStory(host)
    try link.onNearSide("ip", "link", "set", "near", "down")
    try story.endure()
    try link.onNearSide("ip", "link", "set", "near", "up")
    try recover(story)
  }

  @Test
  func thePulledCable() throws {
    let (host, link) = try host()
    let story = try OutageStory(host)
    try link.onFarSide("ip", "link", "set", "far", "down")
    try story.endure()
    try link.onFarSide("ip", "link", "set", "far", "up")
    try recover(story)
  }

  @Test
  func noNames() throws {
    let (host, link) = try host(Link.namedURL, managed: true)
    let story = try OutageStory(host)
    try link.nameIsKnown(false)
    // Connections that are kept need no name; the next daemon has none, and all the sessions.
    try host.restart()
    try story.endure()
    let status = try host.ask(#"{"op":"status"}"#)
    expect(
      status["Sessions"]?[0]?["LastError"]?["Message"]?.text?.contains("cannot be resolved")
        == true)
    try link.nameIsKnown(true)
    try recover(story)
  }

  /// The next address of a name is taken within the first call.
  @Test
  func aDeadFirstAddressIsPassedOver() throws {
    let (host, link) = try host(Link.namedURL, managed: true, timeout: "10s")
    try link.nameHasADeadAddress()
    _ = try host.credentials("cold0")
    // The next daemon has no connection.
    try host.restart()
    _ = try host.credentials("cold1")
    expect(!host.log.contains("calls fail"), "\(host.log)")
    expect(try host.sandbox.callbacks <= 3)
  }

  /// A link that works badly.
  struct Conditions: CustomTestStringConvertible {
    let name: String
    /// What makes it, on the far side.
    let commands: [String]

    var testDescription: String { name }
  }

  static let badConditions = [
    Conditions(
      name: "a slow line",
      commands: ["tc qdisc add dev far root tbf rate 256kbit burst 2kb latency 300ms"]),
    Conditions(
      name: "a third of the packets lost",
      commands: [
        "nft add table ip conditions",
        "nft add chain ip conditions in { type filter hook input priority 0 ; }",
        "nft add rule ip conditions in numgen random mod 3 == 0 counter drop",
      ]),
    Conditions(
      name: "connections reset midway",
      commands: [
        "nft add table ip conditions",
        "nft add chain ip conditions in { type filter hook input priority 0 ; }",
        "nft add rule ip conditions in ip length > 100 numgen random mod 2 == 0 "
          + "meta l4proto tcp counter reject with tcp reset",
      ]),
  ]

  @Test(arguments: badConditions)
  func badLine(_ conditions: Conditions) throws {
    let (host, link) = try host()
    try endure(host, link) {
      for command in conditions.commands { try link.onFarSide(split: command) }
    }
  }

  /// A fifth of the packets is lost, the others come after 20 to 180 ms.
  @Test(
    .enabled(if: PythonScript.canRun, "takes python3"),
    .enabled(if: Link.hasTUN, "this kernel has no TUN devices"))
  func disorderlyLine() throws {
    let (host, link) = try host(isDisorderly: true)
    try endure(host, link) { link.cable?.send(SIGUSR1) }
  }

  private func recover(_ story: OutageStory) throws {
    let start = ContinuousClock.now
    try story.recover()
    expect(start.duration(to: .now) < Self.bound)
  }

  /// However bad, callers get credentials or a reason, and in time; then all is well.
  private func endure(_ host: TestHost, _ link: Link, begin: () throws -> Void) throws {
    let first = try host.credentials("warm0")
    try begin()
    var refusals = 0
    for round in 0..<3 {
      let callers = try (0..<6).map { number in
        let socket = try host.connect()
        try socket.send(#"{"profile":"cold\#(number)","refresh":true,"wait":1}"# + "\n")
        return socket
      }
      let asked = ContinuousClock.now
      expect(try host.ask(#"{"profile":"warm0","wait":0}"#), equals: first, "round \(round)")
      for caller in callers {
        let reply = try caller.reply()
        if let expiration = reply["Expiration"]?.text?.timeFromNow {
          expect(expiration > 0)
        } else {
          expect(reply.errorCode != nil, "\(reply)")
          refusals += 1
        }
      }
      expect(asked.duration(to: .now) < .seconds(10))
    }
    // The line was bad: packets fell to a rule, or callers had to go without.
    let dropped = try link.clearConditions()
    expect(refusals > 0 || dropped > 0)
    let start = ContinuousClock.now
    for number in 0..<6 { _ = try host.credentials("cold\(number)") }
    expect(start.duration(to: .now) < Self.bound)
  }

  /// The cable comes and goes while clients ask.
  @Test
  func aFlappingLink() throws {
    let (host, link) = try host()
    let first = try host.credentials("warm0")
    for round in 0..<5 {
      try link.onNearSide("ip", "link", "set", "near", "down")
      let caller = try host.connect()
      try caller.send(#"{"profile":"cold\#(round)","wait":0.2}"# + "\n")
      let asked = ContinuousClock.now
      expect(try host.ask(#"{"profile":"warm0"}"#), equals: first)
      try link.onNearSide("ip", "link", "set", "near", "up")
      let reply = try caller.reply()
      expect(asked.duration(to: .now) < .seconds(5))
      expect(
        reply["AccessKeyId"] != nil
          || ["BackendUnavailable", "CognitoUnavailable", "Timeout"].contains(reply.errorCode),
        "\(reply)")
    }
    _ = try host.credentials("cold0", refresh: true)
    expect(try host.state("warm0"), equals: "signedIn")
  }
}

extension Link {
  fileprivate func onFarSide(split command: String) throws {
    let words = command.split(separator: " ").map(String.init)
    try run(far, words)
  }

  /// What the conditions have done: packets that a rule took, or that a queue dropped or held back.
  fileprivate var droppedPackets: Int {
    get throws {
      let rules = try output(far, ["nft", "list", "ruleset"])
      let queues = try output(far, ["tc", "-s", "qdisc", "show", "dev", "far"])
      let counts =
        rules.matches(of: /counter packets (\d+)/).map(\.1)
        + queues.matches(of: /dropped (\d+), overlimits (\d+)/).flatMap { [$0.1, $0.2] }
      return counts.compactMap { Int($0) }.reduce(0, +)
    }
  }

  /// Takes away whatever was done to the line. Returns how many packets that has cost.
  fileprivate func clearConditions() throws -> Int {
    if let cable { return try recover(cable) }
    let dropped = try droppedPackets
    if Programs.installed("nft") != nil { try onFarSide("nft", "flush", "ruleset") }
    _ = try? onFarSide("tc", "qdisc", "del", "dev", "far", "root")
    return dropped
  }

  private func recover(_ cable: ChildProcess) throws -> Int {
    cable.send(SIGUSR2)
    var toll: (lost: Int, overtaken: Int)?
    try Deadline.usual.wait(for: "the cable's toll") {
      if let status = cable.status { throw Overdue("the cable, which ended with \(status)") }
      toll = cable.output.firstMatch(of: /(\d+) lost, (\d+) overtaken\n/).flatMap {
        guard let lost = Int($0.1), let overtaken = Int($0.2) else { return nil }
        return (lost, overtaken)
      }
      return toll != nil
    }
    expect(toll?.overtaken ?? 0 > 0)
    return toll?.lost ?? 0
  }
}
