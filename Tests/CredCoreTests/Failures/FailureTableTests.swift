import TestSupport
import Testing

@testable import CredCore

/// Every row of the error table, from the bytes of a reply to the session's reaction.
struct FailureTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let said: String
    let failureClass: FailureClass
    let code: ProtocolErrorCode
    let severity: UpstreamFailure.Severity

    init(
      _ name: String, _ said: String, _ failureClass: FailureClass, _ code: ProtocolErrorCode,
      _ severity: UpstreamFailure.Severity
    ) {
      self.name = name
      self.said = said
      self.failureClass = failureClass
      self.code = code
      self.severity = severity
    }

    var testDescription: String { "\(name) \(said)" }
  }

  static let transient = FailureClass.transient(retryAfter: nil)
  static let throttled = FailureClass.throttled(retryAfter: nil)
  static let refused = "NotAuthorizedException"

  static let cognitoRows: [Row] = [
    Row(
      refused, "Invalid login token. Token expired: 1443123456 >= 1443120000", .newTokenOnce,
      .tokenRejected, .expected),
    Row(
      refused, "Invalid login token. Couldn't verify signed token.", .newTokenOnce, .tokenRejected,
      .expected),
    Row(
      refused, "Invalid login token. Not a Cognito token.", .newTokenOnce, .tokenRejected, .expected
    ),
    Row(
      refused, "Invalid login token. Can't pass in a Cognito token.", .permanentConfiguration,
      .identityConflict, .operatorMustAct),
    Row(
      refused, "Access to Identity '\(Samples.identityText)' is forbidden.",
      .dropIdentityThenNewToken, .tokenRejected, .expected),
    Row(
      refused, "Access to Role 'arn:aws:iam::123456789012:role/a' is forbidden.",
      .poolMisconfigured, .poolMisconfigured, .operatorMustAct),
    Row(
      refused, "Logins don't match. Please include at least one valid login for this identity",
      .conflict, .poolMisconfigured, .operatorMustAct),
    Row(
      refused, "Invalid login token. Issuer doesn't match providerName", .permanentConfiguration,
      .poolMisconfigured, .operatorMustAct),
    Row(
      refused, "Unauthenticated access is not supported for this identity pool.",
      .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row(refused, "something new", .newTokenOnce, .tokenRejected, .expected),
    Row(
      "ResourceNotFoundException", "Identity not found.", .newIdentity, .poolMisconfigured,
      .operatorMustAct),
    Row("ValidationException", "", .newIdentity, .poolMisconfigured, .operatorMustAct),
    Row("ResourceConflictException", "", .conflict, .identityConflict, .operatorMustAct),
    Row(
      "DeveloperUserAlreadyRegisteredException", "", .retryWithoutIdentity, .identityConflict,
      .expected
    ),
    Row(
      "InvalidIdentityPoolConfigurationException", "", .poolMisconfigured, .poolMisconfigured,
      .operatorMustAct),
    Row("ExternalServiceException", "", transient, .cognitoUnavailable, .expected),
    Row("ConcurrentModificationException", "", transient, .cognitoUnavailable, .expected),
    Row(
      "InvalidParameterException", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct
    ),
    Row("SomeNewException", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
  ]

  static let stsRows: [Row] = [
    Row("ExpiredTokenException", "", .newTokenOnce, .tokenRejected, .expected),
    Row("InvalidIdentityToken", "", .newTokenOnce, .tokenRejected, .expected),
    Row("IDPCommunicationError", "", transient, .cognitoUnavailable, .expected),
    Row("IDPRejectedClaim", "", .permanentConfiguration, .tokenRejected, .operatorMustAct),
    Row("AccessDenied", "", .poolMisconfigured, .poolMisconfigured, .operatorMustAct),
    Row(
      "MalformedPolicyDocument", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row("PackedPolicyTooLarge", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row(
      "RegionDisabledException", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row(
      "ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration",
      .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row("ValidationError", "x", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row("SomethingNew", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
  ]

  /// Of a provider's own token: what is wrong in IAM is the operator's, and a new token does not help.
  static let directRows: [Row] = [
    Row("ExpiredTokenException", "", .newTokenOnce, .tokenRejected, .expected),
    Row(
      "InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://x.y",
      .poolMisconfigured, .poolMisconfigured, .operatorMustAct),
    Row(
      "InvalidIdentityToken", "Incorrect token audience", .poolMisconfigured, .poolMisconfigured,
      .operatorMustAct),
    Row("InvalidIdentityToken", "x", .newTokenOnce, .tokenRejected, .expected),
    Row(
      "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", .poolMisconfigured,
      .poolMisconfigured, .operatorMustAct),
    Row("IDPCommunicationError", "", transient, .cognitoUnavailable, .expected),
    Row("IDPRejectedClaim", "", .permanentConfiguration, .tokenRejected, .operatorMustAct),
    Row(
      "MalformedPolicyDocument", "", .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
    Row(
      "ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration",
      .permanentConfiguration, .poolMisconfigured, .operatorMustAct),
  ]

  static let anyServiceRows: [Row] = [
    Row("TooManyRequestsException", "", throttled, .throttled, .expected),
    Row("LimitExceededException", "", throttled, .throttled, .expected),
    Row("ThrottlingException", "", throttled, .throttled, .expected),
    Row("Throttling", "", throttled, .throttled, .expected),
    Row("RequestLimitExceeded", "", throttled, .throttled, .expected),
    Row("InternalErrorException", "", transient, .cognitoUnavailable, .expected),
    Row("InternalFailure", "", transient, .cognitoUnavailable, .expected),
    Row("ServiceUnavailable", "", transient, .cognitoUnavailable, .expected),
    Row("ServiceUnavailableException", "", transient, .cognitoUnavailable, .expected),
  ]

  private func expectFailure(_ failure: UpstreamFailure?, is row: Row, from upstream: String) {
    expect(failure?.failureClass, equals: row.failureClass)
    expect(failure?.code, equals: row.code)
    expect(failure?.severity, equals: row.severity)
    expect(failure?.message.hasPrefix(upstream) == true)
    expect(failure?.message.contains(row.name) == true)
    expect(failure?.protocolError.code, equals: row.code)
    expect(failure?.message.contains("\n") == false)
    expect(failure?.protocolError.reason, equals: row.name)
    expect(row.said.isEmpty || failure?.summary.contains(row.said) == false)
  }

  private func exchange(_ reply: HTTPReply) -> UpstreamFailure? {
    failure { () throws(UpstreamFailure) in _ = try CognitoIdentity.credentials(from: reply) }
  }

  private func assume(_ reply: HTTPReply) -> UpstreamFailure? {
    failure { () throws(UpstreamFailure) in _ = try STS.credentials(from: reply) }
  }

  @Test(arguments: cognitoRows + anyServiceRows)
  func cognitoErrors(row: Row) {
    let plain = #"{"__type":"\#(row.name)","message":"\#(row.said)"}"#
    expectFailure(exchange(Samples.reply(400, plain)), is: row, from: "Cognito")
    let qualified = #"{"__type":"com.amazonaws.cognito#\#(row.name)","Message":"\#(row.said)"}"#
    expectFailure(exchange(Samples.reply(400, qualified)), is: row, from: "Cognito")
    let header = ["X-Amzn-ErrorType": "\(row.name):http://internal.amazon.com/coral/"]
    let reply = Samples.reply(400, #"{"message":"\#(row.said)"}"#, header)
    expectFailure(exchange(reply), is: row, from: "Cognito")
  }

  private static func body(of row: Row) -> String {
    """
    <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
    <Type>Sender</Type><Code>\(row.name)</Code><Message>\(row.said)</Message>
    </Error><RequestId>1</RequestId></ErrorResponse>
    """
  }

  @Test(arguments: stsRows + anyServiceRows)
  func stsErrors(row: Row) {
    expectFailure(assume(Samples.reply(400, Self.body(of: row))), is: row, from: "STS")
  }

  @Test(arguments: directRows + anyServiceRows)
  func stsErrorsOfAProvidersToken(row: Row) {
    let failure = failure { () throws(UpstreamFailure) in
      _ = try STS.credentials(from: Samples.reply(400, Self.body(of: row)), isDirect: true)
    }
    expectFailure(failure, is: row, from: "STS")
    if row.failureClass == .poolMisconfigured {
      expect(failure?.message.contains("IAM") ?? false, "\(failure?.message ?? "")")
    }
  }

  @Test(
    arguments: [
      (302, "", transient, .cognitoUnavailable), (429, "", throttled, .throttled),
      (407, "", transient, .cognitoUnavailable), (511, "", transient, .cognitoUnavailable),
      (500, "<html>moto</html>", transient, .cognitoUnavailable),
      (503, "", transient, .cognitoUnavailable),
      (200, " <!DOCTYPE HTML><p>Welcome to the hotel", transient, .cognitoUnavailable),
      (403, "<html>blocked", transient, .cognitoUnavailable),
      (400, "{}", transient, .cognitoUnavailable), (204, "", transient, .cognitoUnavailable),
      (400, #"{"__type":"<script>"}"#, transient, .cognitoUnavailable),
    ] as [(Int, String, FailureClass, ProtocolErrorCode)])
  func repliesWithoutAnErrorName(
    status: Int, body: String, failureClass: FailureClass, code: ProtocolErrorCode
  ) {
    for failure in [exchange(Samples.reply(status, body)), assume(Samples.reply(status, body))] {
      expect(failure?.failureClass, equals: failureClass)
      expect(failure?.code, equals: code)
    }
  }

  @Test(
    arguments: [
      ("ExpiredTokenException", "", transient, .backendUnavailable),
      ("ExpiredToken", "", transient, .backendUnavailable),
      (
        "InvalidSignatureException", "Signature expired: 1 is now earlier",
        .permanentConfiguration, .backendUnavailable
      ),
      (
        "InvalidSignatureException", "Signature not yet current: 1 is still later",
        .permanentConfiguration, .backendUnavailable
      ),
      (
        "SignatureDoesNotMatch", "Signature expired: 1 is now earlier", .permanentConfiguration,
        .backendUnavailable
      ),
      (
        "SignatureDoesNotMatch", "Signature not yet current: 1 is still later",
        .permanentConfiguration, .backendUnavailable
      ),
      ("RequestExpired", "", .permanentConfiguration, .backendUnavailable),
      ("SignatureDoesNotMatch", "does not match", .permanentConfiguration, .backendRejected),
      ("InvalidClientTokenId", "", .permanentConfiguration, .backendRejected),
      ("OptInRequired", "", .permanentConfiguration, .backendRejected),
      ("IncompleteSignature", "", .permanentConfiguration, .backendRejected),
      ("IncompleteSignatureException", "", .permanentConfiguration, .backendRejected),
      ("MissingAuthenticationToken", "", .permanentConfiguration, .backendRejected),
      (
        "InvalidSignatureException", "The request does not match", .permanentConfiguration,
        .backendRejected
      ),
      ("UnrecognizedClientException", "", .permanentConfiguration, .backendRejected),
      ("AccessDeniedException", "", .permanentConfiguration, .backendRejected),
      ("MissingAuthenticationTokenException", "", .permanentConfiguration, .backendRejected),
      ("ResourceNotFoundException", "", .newIdentity, .poolMisconfigured),
      ("DeveloperUserAlreadyRegisteredException", "", .retryWithoutIdentity, .identityConflict),
    ] as [(String, String, FailureClass, ProtocolErrorCode)])
  func developerCredentials(
    name: String, said: String, failureClass: FailureClass, code: ProtocolErrorCode
  ) {
    let reply = Samples.reply(400, #"{"__type":"\#(name)","message":"\#(said)"}"#)
    let failure = failure { () throws(UpstreamFailure) in
      _ = try CognitoIdentity.developerToken(from: reply, backend: "corp")
    }
    expect(failure?.failureClass, equals: failureClass)
    expect(failure?.code, equals: code)
  }

  /// The first is mended by a person alone, the others perhaps by other keys.
  @Test func aSignatureOfAWrongTimeIsToldFromWrongKeys() {
    let faults: [(String, String, SignatureFault?)] = [
      ("InvalidSignatureException", "Signature expired: 1 is now earlier", .time),
      ("InvalidSignatureException", "The request signature does not match", .keys),
      ("RequestExpired", "", .time), ("ExpiredTokenException", "", .keys),
      ("UnrecognizedClientException", "", .keys), ("InternalErrorException", "", nil),
      ("ResourceNotFoundException", "", nil),
    ]
    for (name, said, fault) in faults {
      let reply = Samples.reply(400, #"{"__type":"\#(name)","message":"\#(said)"}"#)
      let failure = failure { () throws(UpstreamFailure) in
        _ = try CognitoIdentity.developerToken(from: reply, backend: "corp")
      }
      expect(failure?.signatureFault, equals: fault, "\(name)")
      guard fault == .time else { continue }
      expect(failure?.protocolError.kind, equals: .permanent)
      expect(failure?.protocolError.retryAfter == nil)
      expect(failure?.message.contains("set this host's clock") == true)
    }
  }

  @Test(
    arguments: [
      (.nameResolution, .expected), (.connect, .expected), (.tls, .operatorMustAct),
      (.notTLS, .operatorMustAct), (.otherHost, .operatorMustAct),
      (.clientRefused, .operatorMustAct),
      (.certificate, .operatorMustAct), (.timeout, .expected), (.reset, .expected),
      (.tooLarge, .operatorMustAct), (.malformed, .operatorMustAct),
      (.noLibrary, .operatorMustAct), (.fileOverdue, .operatorMustAct),
    ] as [(TransportFailure, UpstreamFailure.Severity)])
  func transport(failure: TransportFailure, severity: UpstreamFailure.Severity) {
    let upstreams: [(Upstream, ProtocolErrorCode)] = [
      (.cognitoIdentity, .cognitoUnavailable), (.sts, .cognitoUnavailable),
      (.backend("corp"), .backendUnavailable),
    ]
    for (upstream, code) in upstreams {
      let found = UpstreamFailure.transport(failure, from: upstream)
      expect(found.failureClass, equals: Self.transient)
      expect(found.code, equals: code)
      expect(found.severity, equals: severity)
      expect(found.message.hasPrefix(upstream.description))
    }
  }

  @Test(
    arguments: [
      ("7", .seconds(7)), ("0", .zero), ("99999999999999999999", .seconds(3600)),
      ("Fri, 02 Jan 2026 03:04:35 GMT", .seconds(30)), ("Thu, 01 Jan 2026 03:04:35 GMT", .zero),
      ("-1", nil), ("soon", nil), ("", nil),
    ] as [(String, Duration?)])
  func retryAfter(text: String, delay: Duration?) {
    var headers = CognitoReplyTests.date
    headers["retry-after"] = text
    let failure = exchange(Samples.reply(503, "", headers))
    expect(failure?.failureClass, equals: .transient(retryAfter: delay))
    expect(failure?.failureClass.retryAfter, equals: delay)
    let body = #"{"__type":"TooManyRequestsException"}"#
    expect(
      exchange(Samples.reply(400, body, headers))?.failureClass,
      equals: .throttled(retryAfter: delay))
  }
}

extension FailureTableTests {
  @Test func aRequestThatWasNotSent() {
    let failure = UpstreamFailure.notSent(
      InvalidInput(field: "RoleArn", reason: "is no ARN"), to: .sts)
    expect(failure.failureClass, equals: .permanentConfiguration)
    expect(failure.severity, equals: .operatorMustAct)
    expect(failure.message.hasSuffix("(RoleArn is no ARN)"))
  }

  @Test func retryableErrorsHaveARetryTime() {
    let failure = UpstreamFailure(
      upstream: .sts, failureClass: .throttled(retryAfter: .seconds(7)), code: .throttled,
      message: "slow down", severity: .expected)
    expect(
      failure.protocolError, equals: ProtocolError(.throttled, "slow down", retryAfter: .seconds(7))
    )
  }

  @Test func aCommandThatCannotRunIsPermanent() {
    let failure = UpstreamFailure.exec(
      ExecOutcome(ending: .notStarted(StartFailure(reason: "Permission denied"))),
      from: .backend("corp"))
    expect(failure.protocolError.code, equals: .backendUnavailable)
    expect(failure.protocolError.kind, equals: .permanent)
    let busy = UpstreamFailure.exec(ExecOutcome(ending: .exited(75)), from: .backend("corp"))
    expect(busy.protocolError.kind, equals: .temporary)
  }

  @Test(
    arguments: [
      (#"{"Code":"NotVouched","Message":"m"}"#, "NotVouched"), (#"{"code":"odd name"}"#, nil),
      (#"{"Code":""}"#, nil), ("no JSON", nil), (#"{"Code":7}"#, nil),
    ] as [(String, String?)])
  func aBackendsOwnNameOfTheErrorIsItsReason(body: String, reason: String?) {
    let failure = UpstreamFailure.backend(
      Samples.reply(403, body), from: .backend("corp"), said: nil)
    expect(failure.protocolError.reason, equals: reason)
    var echo = Samples.reply(403, body)
    echo.sent = SentSecrets([Secret("NotVouched")])
    let hidden = UpstreamFailure.backend(echo, from: .backend("corp"), said: nil)
    expect(hidden.protocolError.reason == nil)
  }
}

struct RemoteTextTests {
  private func shown(_ said: String) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("__type")
    writer.string("InvalidParameterException")
    writer.key("message")
    writer.string(said)
    writer.endObject()
    let failure = failure { () throws(UpstreamFailure) in
      _ = try CognitoIdentity.identity(
        from: HTTPReply(status: 400, body: Secret(writer.bytes)))
    }
    let message = failure?.message ?? ""
    return String(message.split(separator: "InvalidParameterException").last?.dropLast() ?? "")
  }

  @Test(arguments: [
    ("plain words", ": plain words"),
    ("two\r\nlines\u{1B}[31m", ": two lines [31m"),
    ("a\u{202E}b\u{1}c", ": a b c"),
    ("token eyJhbGciOiJub25lIn0.e30.c2ln here", ": token … here"),
    ("key wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY!", ": key …!"),
    ("'\(Samples.identityText)'", ": '\(Samples.identityText)'"),
    ("arn:aws:iam::123456789012:role/reader", ": arn:aws:iam::123456789012:role/reader"),
    ("DeveloperUserAlreadyRegisteredException", ": DeveloperUserAlreadyRegisteredException"),
    (
      "no host cognito-identity.us-esat-1.amazonaws.com.",
      ": no host cognito-identity.us-esat-1.amazonaws.com."
    ),
    (
      "https://sts.ap-southeast-1.amazonaws.com/ failed",
      ": https://sts.ap-southeast-1.amazonaws.com/ failed"
    ),
    ("pool ap-southeast-1_AbCdEf123 is not", ": pool ap-southeast-1_AbCdEf123 is not"),
    ("\n\t ", ""),
  ])
  func foreignTextIsCleaned(said: String, expected: String) {
    expect(shown(said), equals: expected)
  }

  /// Neither a key or token of AWS's forms, nor one that a server has cut into the labels of a host name.
  @Test(arguments: [
    "wjalrxutnfemi7k7mdeng9bpxrficyexamplekey.example.com",
    "3f786850e3.87550fdab8.36ed7e6dc8.81de23001b.example.com",
    "9f86d081-884c7d65-9a2feaa0-c55ad015.example.com",
    "AbCdEfGh1234.IjKlMnOp5678.example.com", "abcdefgh1234.ijklmnop5678.qrstuvwx.9012",
    "us-east-1_abcdefghijklmnopqrstuvwx1",
    "a1-b2c3d4e5f6g7h8i9-j0_K1l2M3n4O5p6Q7r8S9t0Uv", "1h57kf5cpq17m0eml12EXAMPLE",
    "ya29.a0afh6smbx7c1e5d9f3g2h4j6k8l0m1n2.apps", "x.eyJhbGciOiJub25lIn0.example.com",
  ])
  func aSecretInAHostNamesFormIsHidden(secret: String) {
    expect(shown("it is \(secret) here"), equals: ": it is … here")
  }

  /// The id of a client is no secret where the configuration has it; any other text of its form may be one.
  @Test func aNameOfTheConfigurationIsShown() {
    let said = Array(
      "User pool client 2abcdefghijklmnopqrstuvw34 is not 5abcdefghijklmnopqrstuvw67".utf8)
    let sent = SentSecrets([], names: ["2abcdefghijklmnopqrstuvw34"])
    expect(
      RemoteText.clean(said, hiding: sent),
      equals: "User pool client 2abcdefghijklmnopqrstuvw34 is not …")
    let secret = SentSecrets([Secret("2abcdefghijklmnopqrstuvw34")], names: sent.names.sorted())
    expect(RemoteText.clean(said, hiding: secret), equals: "User pool client … is not …")
  }

  @Test func foreignTextIsCut() {
    expect(shown(String(repeating: "word ", count: 1000)).count, equals: 1502)
    expect(shown(String(repeating: "é", count: 5000)).count, equals: 1502)
  }
}
