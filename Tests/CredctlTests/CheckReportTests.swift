import CredCore
import CredctlKit
import TestSupport
import Testing

struct CheckReportTests {
  private static let steps = #"""
    {"Name":"backend corp","Ok":true,"Seconds":0.012,"Detail":"reachable (its path is not tried)"},
    {"Name":"cognito-identity","Ok":true,"Seconds":0.1,"Detail":"reachable"},
    {"Name":"token","Ok":false,"Seconds":1.5,"Detail":"backend 'corp' is away; 3 tries"},
    {"Name":"credentials","Ok":false,"Seconds":0.000,"Detail":"backend 'corp' is away; 3 tries"}
    """#

  private func report(_ steps: String = steps, own: JSONValue? = nil) throws -> CheckReport {
    let reply = #"{"Version":1,"Ok":false,"Steps":[\#(steps)]}"#
    return CheckReport(try JSONValue.parse(Array(reply.utf8)), own: own)
  }

  private func rendered(_ report: CheckReport, width: Int?, hasColour: Bool = false) -> String {
    report.rendered(on: TextTable.Display(width: width, hasColour: hasColour))
  }

  @Test func reasonsStandBelowTheTableEachOnce() throws {
    expect(
      rendered(try report(), width: nil),
      equals: """
        STEP              RESULT  TIME
        backend corp      ok      0.012 s
        cognito-identity  ok      0.1 s
        token             FAILED  1.5 s
        credentials       FAILED  0.0 s

        backend corp: reachable (its path is not tried)
        cognito-identity: reachable
        token, credentials: backend 'corp' is away; 3 tries

        """)
  }

  /// Whatever the width is, each word of a long reason is there.
  @Test(arguments: [11, 24, 40, 80, 200])
  func reasonsAreWrappedAndWhole(_ width: Int) throws {
    let words = (1...400).map { "word\($0)" }
    let steps =
      #"{"Name":"x","Ok":false,"Seconds":0.1,"Detail":"\#(words.joined(separator: " "))"}"#
    let text = rendered(try report(steps), width: width)
    let below = text.split(separator: "\n").drop { !$0.hasPrefix("x:") }
    expect(below.allSatisfy { $0.count <= width }, "\(text)")
    expect(below.joined(separator: " ").split(separator: " ").dropFirst().map(String.init) == words)
    // Elsewhere a reason is one line.
    let line = rendered(try report(steps), width: nil).split(separator: "\n").last
    expect(line?.hasSuffix(" word400") == true)
  }

  @Test func whatFailedIsRed() throws {
    let text = rendered(try report(), width: 80, hasColour: true)
    expect(text.contains("\u{1B}[31mtoken, credentials: backend 'corp' is away; 3 tries\u{1B}[0m"))
    expect(text.contains("\ncognito-identity: reachable\n"))
  }

  @Test func theStatusIsThatOfAGet() throws {
    let failed = try report().failure
    expect(failed?.status, equals: .unavailable)
    expect(failed?.message, equals: "what failed: token, credentials")
    let session = #"{"Name":"session","Ok":false,"Seconds":0.0,"Detail":"nobody is signed in"}"#
    expect(try report(session).failure?.status, equals: .notPermitted)
    expect(try report(Self.steps + "," + session).failure?.status, equals: .notPermitted)
    let good = #"{"Name":"session","Ok":true,"Seconds":0.0,"Detail":"not used yet"}"#
    expect(try report(good).failure == nil)
  }

  // MARK: The endpoint

  private func status(_ listeners: String) throws -> JSONValue {
    let reply = #"{"Version":1,"Sessions":[],"Daemon":{"Listeners":[\#(listeners)]}}"#
    return try JSONValue.parse(Array(reply.utf8))
  }

  private static let remedy =
    "'systemctl stop credd.service credd.socket credd-tokens.socket' and then 'systemctl start "
    + "credd.socket credd-tokens.socket credd-endpoint.socket'; the stop ends people's sign-ins"

  @Test func anEndpointThatIsEnabledAndNotOpenIsAStepThatFails() throws {
    let socket = #"{"Kind":"socket","Address":"/run/credd/credd.sock"}"#
    let step = EndpointUnit.problem(try status(socket), holder: "user bob")
    let report = try report(own: step)
    expect(report.failure?.message, equals: "what failed: endpoint, token, credentials")
    let text = rendered(report, width: nil)
    expect(text.contains("\nendpoint          FAILED  0.0 s\n"), "\(text)")
    expect(
      text.contains(
        "\nendpoint: credd-endpoint.socket is enabled and not listening; port 337 is held by user bob: "
          + "end that program ('ss -ltnp sport = 337' names it), then \(Self.remedy)\n"), "\(text)")
    let line = String(decoding: report.line, as: UTF8.self)
    expect(line.hasPrefix(#"{"Version":1,"Ok":false,"Steps":[{"Name":"endpoint","Ok":false,"#))
    expect(line.hasSuffix("]}\n"))
    let free = EndpointUnit.problem(try status(socket), holder: nil)
    expect(
      free?["Detail"]?.text,
      equals: "credd-endpoint.socket is enabled and not listening: \(Self.remedy)")
  }

  @Test func anEndpointThatIsOpenIsNoStepOfCredctl() throws {
    let endpoint = #"{"Kind":"endpoint","Address":"127.0.0.1:337"}"#
    expect(EndpointUnit.problem(try status(endpoint), holder: "user bob") == nil)
    // An older credd does not say where it listens.
    let older = try JSONValue.parse(Array(#"{"Version":1,"Sessions":[],"Daemon":{}}"#.utf8))
    expect(EndpointUnit.problem(older, holder: nil) == nil)
  }

  @Test func usersAreNamedAsThePasswordFileSays() {
    let file = Array("root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:\n".utf8)
    expect(LocalUsers.words(for: 1000, in: file), equals: "user alice")
    expect(LocalUsers.words(for: 0, in: file), equals: "user root")
    expect(LocalUsers.words(for: 100, in: file), equals: "uid 100")
    expect(LocalUsers.words(for: 7, in: []), equals: "uid 7")
  }
}
