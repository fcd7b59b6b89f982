import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// docs/containers.md works: each of its commands is run as it stands, in containers.
@Suite(
  .onStage, .serialized,
  .enabled(if: ContainerHost.isPossible, "takes root, which can be other users"),
  .enabled(
    if: ContainerHost.missing.isEmpty,
    "needs \(ContainerHost.missing.joined(separator: ", ")): run 'make deps'"),
  .enabled(
    if: !ContainerHost.isPossible || !ContainerHost.missing.isEmpty || ContainerHost.kernelCan,
    "this kernel lets users make no user namespaces, or root no overlays")
)
struct ContainerTests {
  private static func page() throws -> String { try Repository.text("docs/containers.md") }

  /// The commands that are run, in their order.
  private static func recipes() throws -> [String] {
    try page().components(separatedBy: "\n```sh\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  /// A container of the table: who starts it and how, and who credd sees.
  private struct Row {
    let starter: String
    let options: String
    let caller: String
    let key: String

    /// The command that starts it, without what runs in it.
    var container: String {
      isMachine
        ? "\(options) --directory=/var/lib/machines/app --bind-ro=/run/credd "
          + "--bind-ro=/usr/bin/credctl"
        : options.replacing("podman", with: "podman run --rm \(ContainerTests.mounts)")
          + " localhost/app"
    }

    private var isMachine: Bool { options.hasPrefix("systemd-nspawn") }
  }

  private static func rows() throws -> [Row] {
    let lines = try page().split(separator: "\n").filter { $0.hasPrefix("| `") }
    return try lines.map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == 4, "\(line)")
      let start = try #require(cells[0].firstMatch(of: /`(\w+)`: (\S+)/)).output
      let word = { (cell: String) in cell.trimmingCharacters(in: ["`"]) }
      return Row(
        starter: String(start.1), options: "\(start.2) \(word(cells[1]))", caller: word(cells[2]),
        key: word(cells[3]))
    }
  }

  private static func profile(_ name: String, _ key: String) -> String {
    Configuration.profile(name, endpoint: ContainerHost.sandbox, identifier: "uid-{uid}", key)
  }

  /// The profile with which the page begins, at the sandbox.
  private static func host() throws -> ContainerHost {
    let block = try #require(try Repository.blocks(of: "ini", in: "docs/containers.md").first)
    let profile = try #require(block.components(separatedBy: "\n\n").last)
    expect(profile.contains("[profile work]\nidentity_pool_id = \(Sandbox.pool)\n"))
    return try ContainerHost("\(profile)\ncognito_endpoint = \(ContainerHost.sandbox)\n")
  }

  private static let mounts =
    "--volume /run/credd:/run/credd:ro --volume /usr/bin/credctl:/usr/bin/credctl:ro"

  /// Whose each recipe is, as the page says above it.
  @Test func everyRecipeGivesCredentials() throws {
    let host = try Self.host()
    let callers = [
      ("root", "1234"), ("alice", "1717"), ("alice", "1717"), ("alice", "1717"),
      ("alice", "1717"), ("root", "0"),
    ]
    let recipes = try Self.recipes()
    expect(recipes.count, equals: callers.count)
    for (recipe, (user, uid)) in zip(recipes, callers) {
      let before = host.log.utf8.count
      let outcome = try host.run(recipe, as: user)
      expect(outcome.status, equals: 0, "\(recipe)\n\(outcome.errors)\(host.log)")
      expect(outcome.output.contains(#""AccessKeyId":"ASIA"#), "\(recipe)")
      let said = String(decoding: host.log.utf8.dropFirst(before), as: UTF8.self)
      expect(
        said.contains("credentials given") && said.contains(" uid=\(uid)"), "\(recipe)\n\(said)")
    }
  }

  /// Each row's profile admits its container, and none of the others'.
  @Test func theTableSaysWhoIsCallingAndWhichKeyAdmitsIt() throws {
    let rows = try Self.rows()
    expect(rows.count, equals: 9)
    let keys = Set(rows.map(\.key)).sorted()
    let host = try ContainerHost(
      keys.enumerated().map { Self.profile("p\($0.offset)", $0.element) }.joined())
    for row in rows {
      let own = try #require(keys.firstIndex(of: row.key))
      // One container asks for all of them.
      let asks = keys.indices.map { #"credctl get p\#($0) >/dev/null 2>&1; printf '%s ' \$?"# }
        .joined(separator: "; ")
      let before = host.log.utf8.count
      let outcome = try host.run("\(row.container) sh -c \"\(asks)\"", as: row.starter)
      let statuses = outcome.output.split(separator: " ").compactMap { Int($0) }
      expect(
        statuses, equals: keys.indices.map { $0 == own ? 0 : 77 },
        "\(row)\n\(outcome.output)\(outcome.errors)")
      let said = String(decoding: host.log.utf8.dropFirst(before), as: UTF8.self)
      let name = Int(row.caller) == nil ? "user=\(row.caller)" : "uid=\(row.caller)"
      expect(
        said.split(whereSeparator: \.isNewline).contains {
          $0.contains("credentials given") && $0.split(separator: " ").contains { $0 == name }
        }, "\(row)\n\(said)")
    }
  }

  /// Nobody has a range that was taken for one container.
  @Test func aRangeThatIsPickedIsAdmittedByNoKey() throws {
    let host = try Self.host()
    let recipe = try #require(try Self.recipes().last { $0.hasPrefix("systemd-nspawn") })
    let outcome = try host.run(
      recipe.replacing("--bind-ro=/run", with: "--private-users=pick --bind-ro=/run"))
    expect(outcome.status, equals: 77, "\(outcome)")
    // nspawn has one terminal for both.
    expect(outcome.output.contains("'work' is not available to uid "), "\(outcome)")
  }

  /// The container's root is the host's, and credctl trusts a socket of the host's root.
  @Test func aContainerCannotPutAnotherSocketInPlaceOfTheHosts() throws {
    let host = try Self.host()
    let outcome = try host.run(
      "podman run --rm \(Self.mounts) localhost/app mv /run/credd/credd.sock /run/credd/old")
    expect(outcome.status != 0 && outcome.errors.contains("Read-only file system"), "\(outcome)")
    expect(try host.run("credctl get work").status, equals: 0)
  }

  @Test func aContainerThatRunsSeesANewSocketThroughTheFolder() throws {
    let host = try Self.host()
    let outcome = try host.run(
      """
      podman run --rm --detach --name long \(Self.mounts) localhost/app sleep 100 >/dev/null
      podman exec long credctl get work >/dev/null
      old=$(stat --format=%i /run/credd/credd.sock)
      kill "$(pidof credd)"
      until [[ -S /run/credd/credd.sock && $(stat --format=%i /run/credd/credd.sock) != "$old" ]]; do
        sleep 0.1
      done
      podman exec long credctl get work
      podman kill long >/dev/null
      """)
    expect(outcome.status, equals: 0, "\(outcome.errors)\(host.log)")
    expect(outcome.output.contains(#""AccessKeyId":"ASIA"#))
  }

  /// A token of the endpoint is of one uid: a container's other users have another.
  @Test func aTokenOpensNothingForAnotherUidOfTheContainer() throws {
    let host = try Self.host()
    let recipe = try #require(try Self.recipes().first { $0.contains("--network=host") })
    let outcome = try host.run(
      recipe.replacing("--network=host", with: "--network=host --user 33"), as: "alice")
    // curl's status of a refusal.
    expect(outcome.status == 22 && outcome.output.isEmpty, "\(outcome)")
    let network = try host.run(
      recipe.replacing("--network=host", with: "--network=none"), as: "alice")
    expect(network.status, equals: 7, "\(network)")
  }
}
