import CredCore
import Testing

@testable import CredService

struct CommandDisclosureTests {
  @Test func `a command is printed without its secrets`() {
    let command = Command(
      ["/bin/true"], environment: [(name: "TOKEN", value: Secret("hush-variable"))],
      input: Secret("hush-input"), timeout: .seconds(1))
    var printed = ""
    dump(command, to: &printed)
    printed += "\(command) \(String(reflecting: command))"
    #expect(!printed.contains("hush"))
  }
}
