import FoundationEssentials

@testable import SandboxKit

/// A sandbox whose time only the test changes. Tests send it requests and read its replies.
struct TestSandbox {
  static let pool = SandboxSeed.defaultPool
  static let provider = SandboxSeed.defaultProvider
  static let cognito = "cognito-identity.amazonaws.com"
  static let role = "arn:aws:iam::123456789012:role/credd-authenticated"

  /// Making a key takes tenths of a second: one for all tests.
  static let issuer = Result { try TokenIssuer() }

  var sandbox: Sandbox
  /// 2015-09-22T18:08:03Z.
  var now = Date(timeIntervalSince1970: 1_442_945_283)

  init(_ change: (inout SandboxSeed) -> Void = { _ in }) throws {
    var seed = SandboxSeed()
    change(&seed)
    sandbox = Sandbox(seed, issuer: try TestSandbox.issuer.get(), randomSeed: 1)
  }

  mutating func answer(_ request: HTTPRequest) -> Answer {
    let answer = sandbox.answer(request, at: now)
    sandbox.ended(answer)
    return answer
  }

  mutating func send(_ method: String, _ target: String, _ body: JSON? = nil) -> HTTPReply {
    answer(HTTPRequest(method: method, target: target, body: body?.bytes ?? [])).reply
  }

  mutating func send(_ method: String, _ target: String, bearer: String) -> HTTPReply {
    let fields = [HTTPField("Authorization", "Bearer " + bearer)]
    return answer(HTTPRequest(method: method, target: target, headers: fields)).reply
  }

  mutating func cognito(_ operation: String, _ input: JSON) -> HTTPReply {
    answer(TestSandbox.request(operation, input)).reply
  }

  static func request(_ operation: String, _ input: JSON) -> HTTPRequest {
    HTTPRequest(
      method: "POST", target: "/",
      headers: [
        HTTPField("Host", "127.0.0.1:4599"),
        HTTPField("Content-Type", "application/x-amz-json-1.1"),
        HTTPField("X-Amz-Target", "AWSCognitoIdentityService." + operation),
      ], body: input.bytes)
  }

  mutating func sts(_ parameters: [String: String]) -> HTTPReply {
    let form = parameters.map { $0.key + "=" + TestSandbox.encoded($0.value) }
    let common = ["Action=AssumeRoleWithWebIdentity", "Version=2011-06-15"]
    return answer(
      HTTPRequest(
        method: "POST", target: "/", body: Array((common + form).joined(separator: "&").utf8))
    ).reply
  }

  /// Plants a fault.
  mutating func plan(_ fault: JSON) {
    precondition(send("POST", "/control/fault", fault).status == 200)
  }

  /// A user's IdentityId and developer token, as the backend hands them out.
  mutating func token(_ user: String = "alice") -> (identity: String, token: String) {
    let json = send("GET", "/token/" + user).json
    return (json?["IdentityId"]?.text ?? "", json?["Token"]?.text ?? "")
  }

  /// A token of a public provider.
  mutating func social(_ provider: String, _ subject: String, lifetime: Int = 3600) -> String {
    let body: JSON = [
      "Provider": .string(provider), "Subject": .string(subject),
      "Lifetime": .number(Double(lifetime)),
    ]
    return send("POST", "/control/social-token", body).json?["Token"]?.text ?? ""
  }

  mutating func credentials(
    _ identity: String, _ provider: String, _ token: String
  ) -> HTTPReply {
    cognito(
      "GetCredentialsForIdentity",
      ["IdentityId": .string(identity), "Logins": .object([provider: .string(token)])])
  }

  private static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
        ? String(Unicode.Scalar(byte))
        : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}

extension HTTPReply {
  /// `Code: message` of a Cognito error.
  var cognitoError: String {
    "\(json?["__type"]?.text ?? "-"): \(json?["message"]?.text ?? "-")"
  }

  var text: String { String(decoding: body, as: UTF8.self) }
}
