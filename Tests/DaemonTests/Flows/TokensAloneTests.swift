import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// A user pool without an identity pool, through the real programs.
@Suite(.onStage)
struct TokensAloneTests {
  private func host() throws -> TestHost {
    try TestHost { sandbox in
      """
      [backend staff]
      type = user-pool
      user_pool_id = us-east-1_Sandbox
      client_id = \(UserPoolHost.client)
      user_pool_endpoint = \(sandbox.url)
      timeout = 60s
      [profile default]
      backend = staff
      vend_tokens = id

      """
    }
  }

  @Test func aUserSignsInAndProgramsGetTokens() throws {
    let host = try host()
    let before = try host.credctl("token")
    expect(before.status == 77 && before.errors.contains("credctl login"), "\(before)")
    let login = try host.credctl(
      input: UserPoolHost.password, "login", "--username", "alice", "--password-stdin")
    expect(login.status == 0, "\(login)")
    let token = try host.credctl("token")
    expect(token.status == 0 && token.output.contains(#""Token":"ey"#), "\(token)")
    expect(try host.sandbox.calls("cognito.GetId"), equals: 0)
    let credentials = try host.get()
    expect(credentials.status == 64 && credentials.output.isEmpty, "\(credentials)")
    expect(credentials.errors.contains("credctl token --profile default"), "\(credentials)")
    let check = try host.credctl("check")
    expect(check.status == 0 && check.output.contains("tokens"), "\(check)")
    expect(try host.credctl("status").output.contains("signedIn"))
    expect(try host.credctl("logout").status, equals: 0)
    expect(try host.credctl("token").status, equals: 77)
  }
}
