import CredCore
import TestSupport

/// Sample values for the tests of Cognito, STS and the backends.
enum Samples {
  static let poolText = "us-east-1:11111111-2222-3333-4444-555555555555"
  static let identityText = "us-east-1:99999999-8888-7777-6666-555555555555"
  static let provider = "login.example.app"

  static var pool: IdentityPoolID {
    get throws { try IdentityPoolID(poolText) }
  }

  static var identity: IdentityID {
    get throws { try IdentityID(identityText) }
  }

  static var query: TokenQuery {
    get throws {
      TokenQuery(pool: try pool, developerProvider: provider, userIdentifier: "alice")
    }
  }

  static var cognito: CognitoIdentity {
    get throws { CognitoIdentity(try AWSHost(.cognitoIdentity, region: "us-east-1")) }
  }

  static func reply(_ status: Int = 200, _ body: String, _ headers: [String: String] = [:])
    -> HTTPReply
  {
    HTTPReply(
      status: status, headers: headers.map { HTTPReply.Header(name: $0.key, value: $0.value) },
      body: Secret(body))
  }

  /// `header.payload.signature`; only the payload has a meaning.
  static func jwt(_ payload: String) -> String {
    SampleJWT.text(payload, header: #"{"alg":"RS512"}"#)
  }

  /// The text of a request's body.
  static func body(_ request: HTTPRequest) -> String {
    String(decoding: request.body.bytes, as: UTF8.self)
  }

  static func header(_ request: HTTPRequest, _ name: String) -> String? {
    request.headers.first { $0.name == name }?.value.exposedText()
  }
}

/// The failure that `body` throws; nil if it succeeds.
func failure(_ body: () throws(UpstreamFailure) -> Void) -> UpstreamFailure? {
  do throws(UpstreamFailure) {
    try body()
    return nil
  } catch {
    return error
  }
}
