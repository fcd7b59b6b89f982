import CredCore
import TestSupport
import Testing

@testable import CredctlKit

/// What stands in the way of the endpoint in `~/.aws/config`.
struct SharedConfigurationTests {
  @Test(
    arguments: [
      ("[default]\nregion = eu-west-1\nca_bundle = /x\n", nil),
      ("[default]\ncredential_process = /bin/x\n", "credential_process"),
      ("[profile default]\nRole_ARN=arn:aws:iam::1:role/x\n", "role_arn"),
      ("[ default ]\n# credential_process = /bin/x\n", nil),
      ("[profile work]\ncredential_process = /bin/x\n[default]\nregion=a\n", nil),
      ("[default]\ns3 =\n  credential_process = no\nsso_session = a\n", "sso_session"),
      ("", nil), ("credential_process = /bin/x\n", nil),
      ("[default\ncredential_process=x", "credential_process"),
    ] as [(String, String?)])
  func aSourceOfCredentialsIsFound(_ text: String, _ source: String?) {
    expect(SharedConfiguration.source(in: Array(text.utf8)), equals: source)
  }

  @Test func theFileIsWhereSDKsLook() {
    expect(SharedConfiguration.path { ["HOME": "/h"][$0] }, equals: "/h/.aws/config")
    expect(SharedConfiguration.path { ["HOME": "/h", "AWS_CONFIG_FILE": "/c"][$0] }, equals: "/c")
    expect(SharedConfiguration.path { _ in nil } == nil)
  }

  @Test func theFileIsHiddenOnlyIfThatIsWanted() throws {
    for isHidden in [false, true] {
      let variables = try CredentialVariables(
        url: "http://127.0.0.1:1/credentials/p", token: Secret("t"), region: nil,
        leavesOutConfig: isHidden)
      expect(variables.variables.contains { $0.name == "AWS_CONFIG_FILE" }, equals: isHidden)
    }
  }
}
