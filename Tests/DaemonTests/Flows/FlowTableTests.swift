import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The table in docs/identity-flows.md, which says what stands for each call of the SDKs.
struct FlowTableTests {
  /// One row: the SDK's words, credd's, and the names in the last column.
  struct Row {
    let call: String
    let answer: String
    let tests: [String]
  }

  private func rows() throws -> [Row] {
    let file = Repository.root.appending(path: "docs/identity-flows.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let tables = try #require(text.components(separatedBy: "\n## Call by call\n").last)
    return tables.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| "), !line.hasPrefix("| SDK"), !line.hasPrefix("| Call") else {
        return nil
      }
      let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
      guard cells.count == 3 else { return Row(call: String(line), answer: "", tests: []) }
      let names = cells[2].matches(of: /`(\w+)`/).map { String($0.1) }
      return Row(call: cells[0], answer: cells[1], tests: names)
    }
  }

  /// The functions of all tests, by name.
  private func functions() throws -> Set<String> {
    let folder = Repository.root.appending(path: "Tests")
    var names: Set<String> = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where path.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
      for match in text.matches(of: /@Test\b.*?\bfunc (\w+)\(/.dotMatchesNewlines()) {
        names.insert(String(match.1))
      }
    }
    return names
  }

  @Test
  func everyRowNamesTestsThatExist() throws {
    let known = try functions()
    let rows = try rows()
    expect(rows.count > 80)
    for row in rows {
      expect(!row.answer.isEmpty, "\(row.call) has not three cells")
      // What has no equivalent says so and why.
      expect(!row.tests.isEmpty || row.answer.wholeMatch(of: /– .{20,}/) != nil, "\(row.call)")
      let missing = row.tests.filter { !known.contains($0) }
      expect(missing.isEmpty, "\(row.call)")
    }
  }

  /// The calls and callbacks that Amazon's guides for the SDKs name.
  static let calls = [
    "AWSAbstractCognitoDeveloperIdentityProvider", "getProviderName", "refresh()", "getIdentityId",
    "update(", "setToken", "setLogins", "CognitoCachingCredentialsProvider",
    "AWSCognitoCredentialsProviderHelper", "token()", "logins()", "AWSCognitoCredentialsProvider",
    "useEnhancedFlow", "clearCredentials", "clearKeychain", "CognitoIdentityCredentials",
    "CognitoAWSCredentials", "RefreshIdentity()", "RefreshIdentityAsync", "IdentityState",
    "AmazonCognitoEnhancedIdentityProvider", "GetOpenIdTokenForDeveloperIdentity",
    "setTokenDuration", "setIdentityId", "graph.facebook.com", "GetCredentialsForIdentity",
    "AssumeRoleWithWebIdentity", "/registeruser", "/login", "/gettoken", "login:password:",
    "completeLogin:", "getToken:logins:", "initialize", "addUserStateListener", "currentUserState",
    "isLoggedIn", "isSignedIn", "username", "identityId", "getTokens", "getAWSCredentials",
    "federatedSignIn", "customRoleARN", "cognitoIdentityId", "releaseSignInWait", "showSignIn",
    "HostedUIOptions", "handleAuthResponse", "signIn(", "signUp", "confirmSignUp",
    "resendSignUpCode", "confirmSignIn", "forgotPassword", "confirmForgotPassword", "signOut()",
    "signOutGlobally", "invalidateTokens", "deviceOperations", "federateToIdentityPool",
    "developerProvidedIdentityID", "clearFederationToIdentityPool", "fetchAuthSession",
    "getCurrentUser", "Hub",
  ]

  @Test
  func everyCallOfTheSDKsHasARow() throws {
    let rows = try rows()
    for call in Self.calls {
      expect(rows.contains { $0.call.contains(call) }, "no row for \(call)")
    }
  }
}
