import CredCore
import Foundation

/// A key that was issued, and what it may do.
struct IssuedKey: Equatable {
  /// The identity of Cognito from which it comes.
  let identity: String
  var arn: String
  /// Each narrows the key.
  var policies: [String] = []
  var end: WallTime
  /// The key that signed the call; nil of Cognito's.
  var source: String?
}

/// STS's calls that credentials sign. It knows what each key may do, and checks no signature.
final class FakeSTS {
  /// What STS says, although it is not so.
  enum Lie: String, CaseIterable {
    case sameKey, unscoped, otherSession, late, past
  }

  var lie: Lie?
  /// Every key, also Cognito's.
  private(set) var keys: [String: IssuedKey] = [:]
  /// The forms of all calls, in order.
  private(set) var forms: [[String: String]] = []

  static let arn = "arn:aws:sts::123456789012:assumed-role/app/CognitoIdentityCredentials"

  func issued(
    _ key: String, to identity: String, until end: WallTime, arn: String = FakeSTS.arn
  ) {
    keys[key] = IssuedKey(identity: identity, arn: arn, end: end)
  }

  /// - Parameters:
  ///   - key: for the new credentials.
  ///   - now: STS's time.
  func answer(_ request: HTTPRequest, _ key: String, _ now: WallTime) -> FakeHTTP.Answer {
    let form = Self.form(request)
    forms.append(form)
    guard let caller = Self.caller(of: request), let source = keys[caller] else {
      return Self.refusal(403, "InvalidClientTokenId", "The security token is invalid.")
    }
    guard source.end > now else {
      return Self.refusal(403, "ExpiredToken", "The security token is expired.")
    }
    var issued = source
    issued.source = caller
    let seconds = form["DurationSeconds"].flatMap { Int($0) }
    if let role = form["RoleArn"] {
      issued.policies = []
      issued.arn = Self.arn(of: role, form["RoleSessionName"] ?? "")
      issued.end = now + .seconds(seconds ?? 3600)
    } else if let seconds {
      guard now + .seconds(seconds) <= source.end else {
        return Self.refusal(400, "InsufficientSessionLifetime", "Too long.")
      }
      issued.end = now + .seconds(seconds)
    }
    if let policy = form["Policy"], lie != .unscoped { issued.policies.append(policy) }
    return reply(issued, lie == .sameKey ? caller : key, isHop: form["RoleArn"] != nil, now)
  }

  private func reply(
    _ issued: IssuedKey, _ key: String, isHop: Bool, _ now: WallTime
  ) -> FakeHTTP.Answer {
    var issued = issued
    switch lie {
    case .otherSession: issued.arn += "-else"
    case .late: issued.end = issued.end + .seconds(7200)
    case .past: issued.end = now + .seconds(-60)
    case .sameKey, .unscoped, nil: break
    }
    if lie != .sameKey { keys[key] = issued }
    let name = isHop ? "AssumeRole" : "GetScopedCredentials"
    let session = isHop ? "AssumedRoleUser" : "SessionInfo"
    return .reply(
      200,
      """
      <\(name)Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><\(name)Result><Credentials>\
      <AccessKeyId>\(key)</AccessKeyId><SecretAccessKey>secret-\(key)</SecretAccessKey>\
      <SessionToken>session-\(key)</SessionToken><Expiration>\(issued.end.iso8601)</Expiration>\
      </Credentials><\(session)><Arn>\(issued.arn)</Arn></\(session)>\
      <SessionTokenUtilization>14</SessionTokenUtilization>\
      \(isHop ? "" : "<ScopedPoliciesCount>\(issued.policies.count)</ScopedPoliciesCount>")\
      </\(name)Result></\(name)Response>
      """, headers: [("Date", FakeUpstreams.httpDate(now))])
  }

  static func refusal(_ status: Int, _ code: String, _ message: String) -> FakeHTTP.Answer {
    .reply(
      status,
      "<ErrorResponse><Error><Code>\(code)</Code><Message>\(message)</Message></Error></ErrorResponse>"
    )
  }

  private static func caller(of request: HTTPRequest) -> String? {
    request.header("Authorization")?.split(separator: "Credential=").last?
      .split(separator: "/").first.map(String.init)
  }

  private static func arn(of role: String, _ session: String) -> String {
    let account = role.split(separator: ":", omittingEmptySubsequences: false)[4]
    return
      "arn:aws:sts::\(account):assumed-role/\(role.split(separator: "/").last ?? "")/\(session)"
  }

  private static func form(_ request: HTTPRequest) -> [String: String] {
    var parts = URLComponents()
    parts.percentEncodedQuery = request.body.exposedText()
    return Dictionary(
      (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
  }
}
