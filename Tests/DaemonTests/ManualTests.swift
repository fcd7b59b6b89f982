import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The manual pages know what the programs know.
@Suite(.onStage)
struct ManualTests {
  /// The flags of a page, `Fl p , Fl -profile Ar profile`, as they are typed.
  private func flags(_ text: String) -> Set<String> {
    Set(text.matches(of: /\bFl (-?[A-Za-z][a-z-]*)/).map { "-\($0.output.1)" })
  }

  @Test
  func credctlExplainsEveryVerbWithItsOptions() throws {
    let page = try Repository.text("docs/man/credctl.1")
    let tree = try CommandTree(of: Programs.credctl)
    expect(tree.verbs.count > 10)
    let general = flags(page)
    for verb in tree.verbs {
      expect(
        page.contains(try Regex(#"(?m)^\.It Cm \#(verb.commandName)\b"#)), "\(verb.commandName)")
      for option in verb.options { expect(general.contains(option), "\(option)") }
      for choice in verb.choices {
        expect(page.contains(try Regex(#"Cm (.* \| )?\#(choice)\b"#)), "\(choice)")
      }
      // Said once, for all verbs that have them.
      let shared: Set = ["--socket", "--help", "-h", "--version", "-p", "--profile", "--json"]
      let own = Set(verb.options).subtracting(shared)
      let section = try entry(of: verb.commandName, in: page)
      expect(own.subtracting(flags(String(section))), equals: [], "\(verb.commandName)")
    }
    for option in tree.root.options { expect(general.contains(option), "\(option)") }
  }

  @Test
  func credctlExplainsEveryActionWithItsOptions() throws {
    let section = String(try entry(of: "account", in: Repository.text("docs/man/credctl.1")))
    let tree = try CommandTree(of: Programs.credctl)
    let actions = try #require(tree.verbs.first { $0.commandName == "account" }?.subcommands)
    let shared: Set = [
      "--socket", "--help", "-h", "--version", "-p", "--profile", "--json", "--trust-socket",
      "--client-metadata",
    ]
    for action in actions {
      let start = try #require(
        section.firstRange(of: try Regex(#"\n\.It Ic \#(action.commandName)[ \n]"#)),
        "\(action.commandName)")
      let rest = section[start.upperBound...]
      let entry = rest[..<(rest.range(of: "\n.It Ic ")?.lowerBound ?? rest.endIndex)]
      expect(
        Set(action.options).subtracting(shared).subtracting(flags(String(entry))), equals: [],
        "\(action.commandName)")
    }
  }

  /// From a verb's entry to the next verb's.
  private func entry(of verb: String, in page: String) throws -> Substring {
    let start = try #require(page.range(of: "\n.It Cm \(verb)"))
    let rest = page[start.upperBound...]
    let verbs = try CommandTree(of: Programs.credctl).verbs.map(\.commandName)
    let end = verbs.compactMap { rest.range(of: "\n.It Cm \($0)")?.lowerBound }.min()
    return rest[..<(end ?? rest.endIndex)]
  }

  @Test
  func credctlExplainsNoOptionThatIsNotThere() throws {
    let tree = try CommandTree(of: Programs.credctl)
    let known = Set((tree.commands.map(\.command) + [tree.root]).flatMap(\.options))
    expect(flags(try Repository.text("docs/man/credctl.1")).subtracting(known), equals: [])
  }

  @Test
  func creddExplainsItsOptionsAndNoOthers() throws {
    let page = try Repository.text("docs/man/credd.8")
    let tree = try CommandTree(of: Programs.credd)
    expect(flags(page.replacing("| -help", with: "")), equals: Set(tree.root.options))
  }

  @Test
  func theSandboxExplainsItsOptionsAndNoOthers() throws {
    let page = try Repository.text("docs/man/credd-sandbox.1")
    let tree = try CommandTree(of: Programs.sandbox)
    expect(flags(page), equals: Set(tree.root.options))
  }

  @Test(arguments: ["credctl", "credd"])
  func statusesOfThePagesAreThoseOfThePrograms(_ program: String) throws {
    let page = try Repository.text("docs/man/\(program == "credd" ? "credd.8" : "credctl.1")")
    let start = try #require(page.range(of: ".Sh EXIT STATUS"))
    let statuses = page[start.upperBound...].matches(of: /\n\.It (\d+)\n/)
      .map { String($0.output.1) }
    let expected =
      program == "credd"
      ? ["0", "64", "71", "78"] : ["0", "64", "65", "69", "74", "75", "77", "126", "127", "130"]
    expect(statuses, equals: expected)
  }
}
