import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// What Prometheus reads.
@Suite(.onStage)
struct MetricsTests {
  @Test(
    .enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"),
    .enabled(if: Programs.installed("promtool") != nil, "takes Debian's prometheus"))
  func promtoolReadsTheMetrics() throws {
    let endpoint = try EndpointHost()
    expect(try endpoint.get(try endpoint.token()).status, equals: 200)
    let text = try endpoint.host.credctl("metrics")
    expect(text.status, equals: 0, "\(text.errors)")
    let file = try Stage.current().newFile("metrics")
    try Data(text.output.utf8).write(to: URL(filePath: file))
    let promtool = try endpoint.host.run(["/bin/sh", "-c", "promtool check metrics <\"$0\"", file])
    expect(promtool.status == 0 && promtool.errors.isEmpty, "\(promtool)")
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func theEndpointGivesTheSameToWhoeverMayReadThem() throws {
    let endpoint = try EndpointHost {
      Configuration.usual(
        $0, profile: "allow_users = * root", daemon: "metrics_users = root")
    }
    let text = try endpoint.exchange(
      endpoint.head(nil, "Connection: close\r\n", path: "/metrics"))
    expect(text.hasPrefix("HTTP/1.1 200 "))
    expect(text.contains("Content-Type: text/plain; version=0.0.4"))
    expect(text.contains("\ncredd_build_info{version=\""))
    let other = try EndpointHost()
    // Root counts at the endpoint only where it is named.
    let refusal = try other.exchange(other.head(nil, path: "/metrics"))
    expect(refusal.hasPrefix("HTTP/1.1 403 ") && refusal.contains("metrics_users"), "\(refusal)")
    expect(
      other.host.log.contains(
        "refused a request at the endpoint: only root, members of admin_group and metrics_users"))
  }

  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func aCountIsWhatHappened() throws {
    let endpoint = try EndpointHost()
    let host = endpoint.host
    for _ in 0..<5 { _ = try host.ask() }
    for _ in 0..<3 { _ = try endpoint.get(try endpoint.token()) }
    expect(
      try endpoint.sample("credd_requests_total{op=\"get\",transport=\"socket\",code=\"ok\"}"),
      equals: 5)
    expect(
      try endpoint.sample("credd_requests_total{op=\"get\",transport=\"http\",code=\"ok\"}"),
      equals: 3)
    expect(
      try endpoint.sample("credd_refreshes_total{profile=\"default\",result=\"ok\"}"), equals: 1)
    expect(try endpoint.sample("credd_sessions{profile=\"default\",state=\"signedIn\"}"), equals: 1)
  }

  @Test(.enabled(if: Programs.installed("promtool") != nil, "takes Debian's prometheus"))
  func everyAlertFiresWhenItShould() throws {
    for arguments in [
      ["check", "rules", "credd.rules.yml"], ["test", "rules", "credd.rules.test.yml"],
    ] {
      let promtool = try ChildProcess(
        [
          "/bin/sh", "-c", "cd \"$0\" && promtool \"$@\"",
          Repository.root.path + "/contrib/prometheus",
        ]
          + arguments)
      expect(try promtool.wait(), equals: 0, "\(promtool.output) \(promtool.errors)")
    }
  }

  /// The unit's own command line, on this host's programs.
  @Test(.enabled(if: OtherUser.isRoot, "takes root, to whom credd says more"))
  func theTimersFileIsWholeAndNotForAll() throws {
    let host = try TestHost()
    _ = try host.ask()
    let unit = try String(
      contentsOfFile: Repository.root.path + "/systemd/credd-metrics.service", encoding: .utf8)
    let line = String(
      try #require(unit.firstMatch(of: #/\nExecStart=\/bin\/sh -c '(.*)'\n/#)?.output.1))
    let folder = try Stage.current().newFile("textfiles")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    func run(_ environment: [String: String]) throws -> TestHost.Outcome {
      try host.run(
        ["/bin/sh", "-c", line.replacing("/usr/bin/credctl", with: "\"\(Programs.credctl)\"")],
        environment: ["DIRECTORY": folder, "CREDD_SOCKET": host.socketPath].merging(environment) {
          $1
        })
    }
    let file = folder + "/credd.prom"
    expect(try run(["OPTIONS": "", "UMASK": "027"]).status, equals: 0)
    var text = try String(contentsOfFile: file, encoding: .utf8)
    expect(text.contains("profile=\"default\"") && text.hasSuffix("\n"))
    var status = stat()
    try #require(unsafe stat(file, &status) == 0)
    expect(status.st_mode & 0o777, equals: 0o640)
    // Where credd does not answer, the former file stays.
    host.daemon.send(SIGKILL)
    try host.daemon.wait()
    expect(try run(["OPTIONS": "--no-profiles", "UMASK": "022"]).status != 0)
    expect(try String(contentsOfFile: file, encoding: .utf8), equals: text)
    try host.startAgain()
    // The directory's user leads root to no other file.
    let other = try Stage.current().newFile("other")
    try Data("kept".utf8).write(to: URL(filePath: other))
    for name in [".credd.prom.new", "credd.prom"] {
      try? FileManager.default.removeItem(atPath: folder + "/" + name)
      try FileManager.default.createSymbolicLink(
        atPath: folder + "/" + name, withDestinationPath: other)
    }
    expect(try run(["OPTIONS": "--no-profiles", "UMASK": "022"]).status, equals: 0)
    expect(try String(contentsOfFile: other, encoding: .utf8), equals: "kept")
    text = try String(contentsOfFile: file, encoding: .utf8)
    expect(!text.contains("default") && text.contains("credd_build_info"))
    expect(try FileManager.default.contentsOfDirectory(atPath: folder), equals: ["credd.prom"])
  }
}
