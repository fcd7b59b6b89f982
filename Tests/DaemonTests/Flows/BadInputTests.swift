import TestSupport
import Testing

@testable import DaemonHarness

/// What Cognito would refuse by its own limits is refused before a server is called.
@Suite(.onStage)
struct BadInputTests {
  struct Input: CustomTestStringConvertible {
    let name: String
    let line: String
    let words: String

    init(_ name: String, _ members: String, _ words: String) {
      self.name = name
      line = #"{"op":"login",\#(members)}"#
      self.words = words
    }

    var testDescription: String { name }
  }

  private static let id = "us-east-1:11111111-2222-3333-4444-555555555555"
  private static func logins(_ members: String) -> String { #""logins":{\#(members)}"# }

  static let inputs = [
    Input(
      "eleven logins", logins((0..<11).map { #""p\#($0).example":"t""# }.joined(separator: ",")),
      "1 to 10"),
    Input("no logins", logins(""), "1 to 10"),
    Input(
      "long token", logins(#""a.example":"\#(String(repeating: "t", count: 50_001))""#),
      "over 50000 characters"),
    Input("empty token", logins(#""a.example":"""#), "empty"),
    Input("provider with a scheme", logins(#""https://a.example":"t""#), "scheme"),
    Input("provider that is empty", logins(#""":"t""#), "provider"),
    Input(
      "long provider", logins(#""\#(String(repeating: "p", count: 129))":"t""#), "128 characters"),
    Input("provider in two scripts", logins(#""аccounts.google.com":"t""#), "ASCII"),
    Input("token that is a number", logins(#""a.example":1"#), "string"),
    Input(
      "developer token as a login", logins(#""cognito-identity.amazonaws.com":"t""#),
      "identity_id"),
    Input("malformed IdentityId", #""identity_id":"alice","token":"t""#, "REGION:UUID"),
    Input(
      "long IdentityId",
      #""identity_id":"us-east-1:\#(String(repeating: "a", count: 60))","token":"t""#,
      "55"),
    Input(
      "long developer token",
      #""identity_id":"\#(id)","token":"\#(String(repeating: "t", count: 50_001))""#, "token"),
    Input(
      "role that is no ARN", logins(#""a.example":"t""#) + #","custom_role_arn":"admin""#, "ARN"),
    Input("password without a name", #""password":"p""#, "username"),
    Input(
      "two ways at once", #""username":"a","password":"p","identity_id":"\#(id)","token":"t""#,
      "takes one of"),
  ]

  @Test
  func badInputIsRefusedBeforeAnyCall() throws {
    let host = try TestHost { Configuration.direct($0) }
    let socket = try host.connect()
    for input in Self.inputs {
      try socket.send(input.line + "\n")
      let refused = try socket.reply()
      expect(refused.errorCode, equals: "InvalidRequest", "\(input.name)")
      expect(
        refused.errorMessage?.contains(input.words) == true, "\(input.name): \(refused)")
    }
    expect(try host.sandbox.allCalls, equals: 0)
    expect(try host.state(), equals: "signedOut")
  }

  @Test
  func credctlTakesNoSecretFromTheCommandLine() throws {
    let host = try TestHost { Configuration.direct($0) }
    let refused = try host.credctl("login", "--login", "accounts.google.com=the-token")
    expect(refused.status, equals: 64)
    expect(refused.output.isEmpty)
    expect(!refused.errors.contains("the-token"))
    expect(try host.sandbox.allCalls, equals: 0)
  }
}
