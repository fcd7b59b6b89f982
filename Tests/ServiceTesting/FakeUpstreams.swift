import CredCore
import Foundation
import TestSupport

/// A backend, Cognito and STS that answer as the real ones do, each time with another token or
/// other credentials.
final class FakeUpstreams {
  /// A fault of one operation.
  struct Fault {
    var answer: FakeHTTP.Answer
    /// How often it happens; nil for ever.
    var count: Int?

    static func status(
      _ status: Int, _ body: String = "", headers: [(String, String)] = [], count: Int? = nil
    ) -> Fault {
      Fault(answer: .reply(status, body, headers: headers), count: count)
    }

    static func failure(_ failure: TransportFailure, count: Int? = nil) -> Fault {
      Fault(answer: .failure(failure), count: count)
    }

    static let hang = Fault(answer: .silence)
  }

  static let pool = "us-east-1:11111111-2222-3333-4444-555555555555"

  var credentialLifetime = Duration.seconds(3600)
  var tokenLifetime = Duration.seconds(900)
  /// What an operation takes; zero unless set.
  var delays: [String: Duration] = [:]
  /// By the name of the operation: `token`, `login`, `GetCredentialsForIdentity` …
  var faults: [String: Fault] = [:]
  /// Users that may sign in, with their passwords.
  var passwords = ["alice": "alice-password", "bob": "bob-password"]
  /// Added to the time of AWS's own clock; nil where replies carry no `Date`.
  var dateSkew: Duration?
  /// How far the backend's clock is ahead of AWS's, where replies carry a `Date`.
  var backendSkew = Duration.zero
  /// Whether GetOpenIdTokenForDeveloperIdentity is answered. Signatures are not checked.
  var answersDeveloperTokens = false
  /// Of the backend's tokens.
  var tokenHeaders: [(String, String)] = []
  /// How often each operation was called.
  private(set) var calls: [String: Int] = [:]
  private var identities: [String: Int] = [:]
  private var issued = 0
  /// STS's calls that credentials sign.
  let sts = FakeSTS()
  private let clock: VirtualClock

  init(_ clock: VirtualClock) {
    self.clock = clock
  }

  func calls(_ operation: String) -> Int { calls[operation] ?? 0 }

  func answer(_ request: HTTPRequest) -> FakeHTTP.Answer {
    let operation = request.operation
    calls[operation, default: 0] += 1
    var answer = fault(operation) ?? reply(operation, request)
    answer.time = max(answer.time, delays[operation] ?? .zero)
    return answer
  }

  private func fault(_ operation: String) -> FakeHTTP.Answer? {
    guard let fault = faults[operation] else { return nil }
    if let count = fault.count { faults[operation]?.count = count - 1 }
    if fault.count == 1 { faults[operation] = nil }
    return fault.answer
  }

  private func reply(_ operation: String, _ request: HTTPRequest) -> FakeHTTP.Answer {
    issued += 1
    let json = request.json
    switch operation {
    case "token":
      let user = json?["DeveloperUserIdentifier"]?.text ?? request.url
      return .reply(
        200, #"{"IdentityId":"\#(identity(of: user))","Token":"\#(token())"}"#,
        headers: date(of: request) + tokenHeaders)
    case "login": return login(json)
    case "logout": return ok("{}")
    case "register": return .reply(201, "")
    case "GetId":
      return ok(#"{"IdentityId":"\#(identity(of: json?["Logins"] == nil ? "guest" : "logins"))"}"#)
    case "GetOpenIdTokenForDeveloperIdentity" where answersDeveloperTokens:
      return ok(#"{"IdentityId":"\#(identity(of: "developer"))","Token":"\#(token())"}"#)
    case "GetOpenIdToken":
      return ok(#"{"IdentityId":"\#(json?["IdentityId"]?.text ?? "")","Token":"\#(token())"}"#)
    case "GetCredentialsForIdentity": return credentials(json?["IdentityId"]?.text ?? "")
    case "AssumeRoleWithWebIdentity": return role()
    case "AssumeRole", "GetScopedCredentials": return sts.answer(request, accessKeyID, serverTime)
    default: return .reply(404, "", headers: date(of: request))
    }
  }

  private func ok(_ body: String) -> FakeHTTP.Answer { dated(200, body) }

  private func dated(_ status: Int, _ body: String) -> FakeHTTP.Answer {
    .reply(status, body, headers: date)
  }

  private var date: [(String, String)] {
    dateSkew.map { [("Date", Self.httpDate(clock.wallTime + $0))] } ?? []
  }

  private func date(of request: HTTPRequest) -> [(String, String)] {
    let isBackends = request.operation == "token" || request.url.hasPrefix("http://127.0.0.1/")
    let skew = isBackends ? backendSkew : .zero
    return dateSkew.map { [("Date", Self.httpDate(clock.wallTime + $0 + skew))] } ?? []
  }

  /// A time as in `Date` of HTTP.
  static func httpDate(_ time: WallTime) -> String {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return format.string(from: Date(timeIntervalSince1970: Double(time.milliseconds) / 1000))
  }

  private func login(_ json: JSONValue?) -> FakeHTTP.Answer {
    guard let name = json?["Username"]?.text, let known = passwords[name],
      json?["Password"]?.text == known
    else { return .reply(401, #"{"message":"wrong user name or password"}"#) }
    return ok(#"{"SessionToken":"session-\#(issued)","DeveloperUserIdentifier":"\#(name)"}"#)
  }

  /// The same for a user each time.
  func identity(of user: String) -> String {
    let number = identities[user] ?? identities.count + 1
    identities[user] = number
    return "us-east-1:00000000-1111-2222-3333-\(String(format: "%012d", number))"
  }

  /// From now on a user has another identity.
  func replaceIdentity(of user: String) { identities[user] = identities.count + 100 }

  /// A JWT: it says when it ends.
  private func token() -> String {
    let end = serverTime + tokenLifetime
    let claims = #"{"exp":\#(end.milliseconds / 1000),"aud":"\#(Self.pool)","n":\#(issued)}"#
    return SampleJWT.text(claims)
  }

  private var serverTime: WallTime { clock.wallTime + (dateSkew ?? .zero) }

  private var accessKeyID: String { "ASIAEXAMPLE" + String(format: "%09d", issued) }

  private func credentials(_ identity: String) -> FakeHTTP.Answer {
    let end = serverTime + credentialLifetime
    sts.issued(accessKeyID, to: identity, until: end)
    return ok(
      """
      {"IdentityId":"\(identity)","Credentials":{"AccessKeyId":"\(accessKeyID)",\
      "SecretKey":"secret-\(issued)","SessionToken":"session-\(issued)","Expiration":\(end.milliseconds / 1000)}}
      """)
  }

  private func role() -> FakeHTTP.Answer {
    let end = serverTime + credentialLifetime
    let arn = "arn:aws:sts::123456789012:assumed-role/r/s"
    sts.issued(accessKeyID, to: "", until: end, arn: arn)
    return ok(
      """
      <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\
      <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>\(accessKeyID)</AccessKeyId>\
      <SecretAccessKey>secret-\(issued)</SecretAccessKey>\
      <SessionToken>session-\(issued)</SessionToken>\
      <Expiration>\(end.iso8601)</Expiration></Credentials>\
      <AssumedRoleUser><Arn>\(arn)</Arn>\
      <AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>\
      </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
      """)
  }
}
