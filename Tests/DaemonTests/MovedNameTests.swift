import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// A backend that moves to another address, as at a fail-over by DNS.
@Suite(.onStage)
struct MovedNameTests {
  private static func write(_ address: String, to hosts: String) throws {
    try Data("127.0.0.1 localhost\n\(address) backend.test\n".utf8)
      .write(to: URL(filePath: hosts))
  }

  @Test(
    .enabled(
      if: OtherUser.canBe && Programs.installed("unshare") != nil, "takes root and unshare(1)"))
  func theNextTryGoesToTheNewAddress() throws {
    let hosts = try Stage.current().newFile("hosts")
    try Self.write("127.0.0.2", to: hosts)
    let mount = "mount --bind \(hosts) /etc/hosts && exec \"$0\" \"$@\""
    let host = try TestHost(
      under: [try #require(Programs.installed("unshare")), "-m", "/bin/sh", "-c", mount]
    ) { sandbox in
      let url = sandbox.url.replacing("127.0.0.1", with: "backend.test")
      return Configuration.http(url: "\(url)/token", backend: "allow_plain_http = yes")
        + Configuration.profile("default", endpoint: sandbox.url)
    }
    let refused = try host.ask(#"{"wait":0.5}"#)
    let message = refused["Error"]?["Message"]?.text ?? ""
    expect(message.contains("(Connection refused)"), "\(refused)")
    try Self.write("127.0.0.1", to: hosts)
    expect(try host.ask(#"{"wait":30}"#)["AccessKeyId"] != nil, "\(host.log)")
  }
}
