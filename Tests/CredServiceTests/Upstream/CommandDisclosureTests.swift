import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

struct CommandDisclosureTests {
  @Test func `a command is printed without its secrets`() {
    let command = Command(
      ["/bin/true"], environment: [(name: "TOKEN", value: Secret("hush-variable"))],
      input: Secret("hush-input"), timeout: .seconds(1))
    var printed = ""
    dump(command, to: &printed)
    printed += "\(command) \(String(reflecting: command))"
    expect(!printed.contains("hush"))
  }

  @Test func `an exchange is printed without its secrets`() {
    let request = HTTPRequest(method: .post, url: "http://127.0.0.1", body: Secret("hush-body"))
    let sent = UpstreamRequest(
      request, HTTPSettings(timeout: .seconds(1), replyLimit: 1), to: .sts,
      secrets: [Secret("hush-token")])
    let exchange = Exchange<Void>(request: sent) { _ throws(UpstreamFailure) in }
    var printed = ""
    dump(exchange, to: &printed)
    printed += "\(exchange) \(String(reflecting: exchange))"
    expect(!printed.contains("hush"))
  }

  @Test func `a call for a replica is printed without its token`() {
    let use = ReplicaUse.token(Secret("hush-token"))
    var printed = ""
    dump(use, to: &printed)
    printed += "\(use) \(String(reflecting: use))"
    expect(!printed.contains("hush"))
  }
}
