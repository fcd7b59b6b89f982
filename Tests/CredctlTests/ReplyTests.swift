import CredCore
import CredctlKit
import Foundation
import TestSupport
import Testing

struct ReplyTests {
  private static let good =
    #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","Expiration":"2030-01-01T00:00:00Z"}"#

  private func failure(_ line: String, _ shape: ReplyShape = .credentials) -> Failure? {
    do throws(Failure) {
      _ = try Reply.check(Array(line.utf8), has: shape, profile: "work")
      return nil
    } catch {
      return error
    }
  }

  private func refusal(_ code: String, _ rest: String = "") -> Failure? {
    failure(#"{"Version":1,"Error":{"Code":"\#(code)","Message":"it failed"\#(rest)}}"#)
  }

  @Test func acceptsCredentials() {
    expect(failure(Self.good) == nil)
  }

  @Test(arguments: [
    "", "null", "[]", "{}", "GET / HTTP/1.1", good + "x", "\u{0}",
    #"{"Version":2,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","Expiration":"E"}"#,
    #"{"Version":1,"AccessKeyId":"","SecretAccessKey":"S","SessionToken":"T","Expiration":"E"}"#,
    #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":5,"SessionToken":"T","Expiration":"E"}"#,
    #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"E"}"#,
    #"{"Version":1,"Error":{}}"#, #"{"Version":1,"Error":"no"}"#,
    good.replacing("\"A\"", with: "\"A\u{9B}31m\""), good.replacing("\"A\"", with: "\"\u{202E}A\""),
    good + "\t",
  ])
  func refusesLinesThatAreNoReply(_ line: String) {
    expect(failure(line)?.status, equals: .unavailable)
    expect(failure(line)?.message.hasSuffix("check that credd listens there") == true)
  }

  @Test func errorDoesNotRepeatTheReply() {
    let cut = String(Self.good.replacing("\"T\"", with: "\"TOPSECRET").dropLast())
    expect(failure(cut)?.message.contains("TOPSECRET") == false)
  }

  @Test(arguments: [
    ("InvalidRequest", Sysexit.usage), ("RequestTooLarge", .usage), ("UnknownProfile", .usage),
    ("UnknownOperation", .unavailable), ("IdentityConflict", .unavailable),
    ("PoolMisconfigured", .unavailable), ("Internal", .unavailable),
    ("FromTheFuture", .unavailable),
    ("AccessDenied", .notPermitted), ("SignInRequired", .notPermitted),
    ("SignInFailed", .notPermitted), ("BackendRejected", .notPermitted),
    ("TokenRejected", .notPermitted), ("BackendUnavailable", .unavailable),
    ("Throttled", .tryAgain), ("CognitoUnavailable", .unavailable), ("Timeout", .tryAgain),
    ("TooManyRequests", .tryAgain), ("ShuttingDown", .tryAgain),
  ])
  func hasAStatusForEachCode(_ code: String, _ status: Sysexit) {
    expect(refusal(code)?.status, equals: status)
  }

  /// The statuses that credd-protocol(7) gives.
  @Test(arguments: ProtocolErrorCode.allCases)
  func hasTheStatusOfTheManual(_ code: ProtocolErrorCode) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(path: "docs/man/credd-protocol.7"), encoding: .utf8)
    let status = try #require(refusal(code.rawValue, #","RetryAfter":1"#)?.status.code)
    expect(page.contains("\n.It Li \(code.rawValue) Pq \(status)\n"))
  }

  @Test(arguments: ProtocolErrorCode.allCases)
  func everyErrorCodeIsAFailure(_ code: ProtocolErrorCode) {
    expect(refusal(code.rawValue).map { [64, 69, 75, 77].contains($0.status.code) } == true)
  }

  /// Whatever `watch` reports is shown, and none of it ends the watch.
  @Test(arguments: ProtocolErrorCode.allCases)
  func takesEveryEventOfTheDaemons(_ code: ProtocolErrorCode) throws {
    let identity = try IdentityID("us-east-1:00000000-1111-2222-3333-444444444444")
    let time = WallTime(milliseconds: 1_800_000_000_000)
    var events = ReportedState.allCases.map { SessionEvent.state($0, identityID: identity) }
    events += [
      .state(.signedOut, identityID: nil),
      .identityChanged(previous: nil, current: identity),
      .identityChanged(previous: identity, current: identity),
      .refreshed(identityID: identity, expiration: time, nextRefresh: time),
      .refreshed(identityID: identity, expiration: time, nextRefresh: nil),
      .degraded(ProtocolError(code, "words"), expiration: time),
      .degraded(ProtocolError(code, "words", retryAfter: .seconds(1)), expiration: nil),
    ]
    for event in events {
      let line = RenderedReply.event(event, profile: "work").bytes
      expect(failure(String(decoding: line, as: UTF8.self), .event) == nil, "\(event)")
      expect(EventLine.text(of: try JSONValue.parse(line), now: time) != nil, "\(event)")
    }
  }

  @Test func acceptsTheDaemonsReplies() throws {
    let credentials = Credentials(
      accessKeyID: "A", secretAccessKey: Secret("S"), sessionToken: Secret("T"),
      expiration: WallTime(milliseconds: 0))
    let token = try DeveloperToken(Secret("t"))
    let lines: [(RenderedReply, ReplyShape)] = [
      (.credentials(credentials), .credentials),
      (.token(token, of: try IdentityID("a:0")), .token),
      (.session(profile: "work", state: .signedOut), .session),
      (.released(profile: "work", waiters: 2), .released),
      (.event(.state(.guest, identityID: nil), profile: "work"), .event),
      (.ping(version: "1", pid: 2), .daemon),
    ]
    for (reply, shape) in lines {
      expect(failure(String(decoding: reply.bytes, as: UTF8.self), shape) == nil)
    }
  }

  @Test func anErrorInAnEventIsNoRefusal() throws {
    let error = ProtocolError(.backendUnavailable, "it failed")
    let degraded = RenderedReply.event(.degraded(error, expiration: nil), profile: "work")
    expect(failure(String(decoding: degraded.bytes, as: UTF8.self), .event) == nil)
    expect(failure(#"{"Version":1,"Event":"fromTheFuture","Error":7}"#, .event) == nil)
    expect(
      failure(#"{"Version":1,"Error":{"Code":"AccessDenied","Message":"no"}}"#, .event)?.status,
      equals: .notPermitted)
    expect(
      failure(#"{"Version":1,"Event":"x","Error":{}}"#, .session)?.status, equals: .unavailable)
  }

  @Test func advisesByTheCode() {
    expect(
      refusal("SignInRequired")?.line,
      equals: "credctl: it failed: sign in with 'credctl login --profile work'\n")
    expect(
      refusal("Throttled", #","RetryAfter":30"#)?.message, equals: "it failed: ask again in 30 s")
    expect(
      refusal("Throttled", #","RetryAfter":0.2"#)?.message, equals: "it failed: ask again in 1 s")
    expect(refusal("Throttled", #","RetryAfter":0"#)?.message, equals: "it failed: ask again")
    expect(refusal("Throttled", #","RetryAfter":1e300"#)?.message, equals: "it failed")
    expect(refusal("PoolMisconfigured", #","RetryAfter":30"#)?.message, equals: "it failed")
    expect(refusal("TooManyRequests")?.message, equals: "it failed: try again later")
  }

  @Test func detectsThatAPasswordIsNeeded() {
    expect(refusal("SignInRequired")?.wantsPassword == true)
    expect(refusal("SignInFailed")?.wantsPassword == false)
    expect(failure("no JSON")?.wantsPassword == false)
  }

  @Test func addsNothingToAMessageWithACommand() {
    let failure = Failure(
      Refusal(code: "SignInRequired", message: "run 'credctl login -p x'"), profile: "x")
    expect(failure.message, equals: "run 'credctl login -p x'")
  }

  @Test func quotesTheProfileForTheShell() {
    let failure = Failure(Refusal(code: "SignInRequired", message: "no"), profile: "it's me")
    expect(failure.message, equals: #"no: sign in with 'credctl login --profile 'it'\''s me''"#)
  }

  @Test func aMessageCannotCommandTheTerminal() {
    let message = "a\u{1B}[31mb\r\nc\u{202E}d\u{7}" + String(repeating: "x", count: 5000)
    let line = Failure(Refusal(code: "Internal", message: message), profile: nil).line
    expect(line.hasPrefix("credctl: a[31mb cdxxx"))
    expect(line.utf8.filter { $0 < 0x20 }.count, equals: 1)
    expect(line.count < 2100)
  }
}
