import CredCore
import TestSupport
import Testing

struct EndpointReplyTests {
  private func text(_ reply: EndpointReply) -> String {
    String(decoding: reply.bytes, as: UTF8.self)
  }

  @Test func credentialsAreWhatTheSDKsRead() {
    let credentials = Credentials(
      accessKeyID: "ASIAX", secretAccessKey: Secret("s/+="), sessionToken: Secret("t"),
      expiration: WallTime(milliseconds: 1_714_979_289_999), accountID: "123456789012")
    let body =
      #"{"AccessKeyId":"ASIAX","SecretAccessKey":"s/+=","Token":"t","#
      + #""Expiration":"2024-05-06T07:08:09Z","AccountId":"123456789012"}"#
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.utf8.count)\r\nCache-Control: no-store\r\n"
    expect(text(.credentials(credentials, closes: false)), equals: head + "\r\n" + body)
    expect(
      text(.credentials(credentials, closes: true)),
      equals: head + "Connection: close\r\n\r\n" + body)
  }

  @Test func anErrorHasBothSpellingsOfItsKeys() throws {
    let reply = EndpointReply.refusal(.token)
    let body = try #require(text(reply).split(separator: "\r\n").last)
    let json = try JSONValue.parse(Array(body.utf8))
    expect(json["code"]?.text, equals: "TokenRejected")
    expect(json["Code"]?.text, equals: "TokenRejected")
    expect(json["message"]?.text, equals: EndpointRefusal.token.message)
    expect(json["Message"]?.text, equals: EndpointRefusal.token.message)
    expect(reply.closes)
  }

  @Test(arguments: EndpointRefusal.allCases)
  func everyRefusalClosesAndIsShort(_ refusal: EndpointRefusal) {
    let text = text(.refusal(refusal))
    expect(text.hasPrefix("HTTP/1.1 \(refusal.status.rawValue) "))
    expect(text.contains("\r\nConnection: close\r\n"))
    expect(text.utf8.count < 2048)
    expect(!text.contains("Access-Control") && !text.contains("Server:"))
    expect((400..<500).contains(refusal.status.rawValue))
  }

  @Test func anAnswerToHeadHasNoBody() {
    let text = text(.refusal(.head))
    expect(text.hasSuffix("\r\n\r\n"))
    expect(text.contains("\r\nAllow: GET\r\n"))
  }

  @Test func unknownAndForbiddenProfilesReadAlike() {
    let one = EndpointReply.error(ProtocolError(.unknownProfile, "there is no profile 'x'"))
    let other = EndpointReply.error(ProtocolError(.accessDenied, "not for you"))
    expect(one, equals: other)
    expect(one.status, equals: .forbidden)
  }

  @Test func onlyWhatAnotherRequestMayFindIsSaidToBeUnavailable() {
    var permanent = ProtocolError(.backendUnavailable, "x")
    permanent.kind = .permanent
    let statuses: [(ProtocolError, EndpointStatus)] = [
      (ProtocolError(.timeout, "x"), .unavailable),
      (ProtocolError(.backendUnavailable, "x"), .unavailable),
      (ProtocolError(.cognitoUnavailable, "x"), .unavailable),
      (ProtocolError(.throttled, "x"), .unavailable),
      (ProtocolError(.shuttingDown, "x"), .unavailable),
      (permanent, .forbidden),
      (ProtocolError(.tooManyRequests, "x"), .tooManyRequests),
      (ProtocolError(.signInRequired, "x"), .forbidden),
      (ProtocolError(.backendRejected, "x"), .forbidden),
      (ProtocolError(.poolMisconfigured, "x"), .forbidden),
      (ProtocolError(.internal, "x"), .forbidden),
    ]
    for (error, status) in statuses {
      expect(EndpointReply.error(error).status, equals: status, "\(error)")
    }
  }
}
