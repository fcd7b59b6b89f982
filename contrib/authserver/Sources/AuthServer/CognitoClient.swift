public import AuthCore
import CredCore

/// Cognito by HTTPS and Signature Version 4.
public struct CognitoClient: Cognito {
  private let http: HTTPClient
  private let endpoint: String?
  private let credentials: AWSCredentials
  private let metrics: Metrics
  private let now: @Sendable () -> Timestamp

  /// - Parameter endpoint: in place of AWS's own.
  public init(
    http: HTTPClient, endpoint: String?, credentials: AWSCredentials, metrics: Metrics,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.http = http
    self.endpoint = endpoint
    self.credentials = credentials
    self.metrics = metrics
    self.now = now
  }

  public func token(
    pool: AuthCore.Configuration.Pool, user: String, logins: [String: String], identityID: String?
  ) async throws(CognitoFailure) -> CognitoToken {
    var all = logins
    all[pool.developerProvider] = user
    let reply = try await call("GetOpenIdTokenForDeveloperIdentity", pool) { [all] in
      $0.member("IdentityPoolId", pool.identityPoolID)
      $0.member("IdentityId", identityID)
      $0.member("Logins", all)
      $0.member("TokenDuration", pool.tokenDuration.milliseconds / 1000)
    }
    guard let id = reply["IdentityId"]?.text, CognitoSyntax.isID(id),
      let token = reply["Token"]?.text,
      !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw CognitoFailure(code: "Unreachable", message: "the answer names no token") }
    return CognitoToken(identityID: id, token: token)
  }

  public func users(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]? {
    var users: [String] = []
    var page: String?
    var pages = 0
    repeat {
      let reply = try await find("LookupDeveloperIdentity", pool) { [page] in
        $0.member("IdentityPoolId", pool.identityPoolID)
        $0.member("IdentityId", id)
        $0.member("MaxResults", 60)
        $0.member("NextToken", page)
      }
      guard let reply else { return nil }
      users += reply["DeveloperUserIdentifierList"]?.texts ?? []
      page = reply["NextToken"]?.text
      pages += 1
    } while page != nil && pages < 4
    return users
  }

  public func identity(
    ofUser user: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String? {
    try await find("LookupDeveloperIdentity", pool) {
      $0.member("IdentityPoolId", pool.identityPoolID)
      $0.member("DeveloperUserIdentifier", user)
      $0.member("MaxResults", 1)
    }?["IdentityId"]?.text
  }

  public func logins(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]? {
    try await find("DescribeIdentity", pool) { $0.member("IdentityId", id) }
      .map { $0["Logins"]?.texts ?? [] }
  }

  public func merge(
    _ source: String, into destination: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String {
    let reply = try await call("MergeDeveloperIdentities", pool, isRepeatable: false) {
      $0.member("IdentityPoolId", pool.identityPoolID)
      $0.member("DeveloperProviderName", pool.developerProvider)
      $0.member("SourceUserIdentifier", source)
      $0.member("DestinationUserIdentifier", destination)
    }
    guard let id = reply["IdentityId"]?.text else {
      throw CognitoFailure(code: "Unreachable", message: "the answer names no identity")
    }
    return id
  }

  public func unlink(
    _ user: String, from identityID: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) {
    _ = try await call("UnlinkDeveloperIdentity", pool, isRepeatable: false) {
      $0.member("IdentityPoolId", pool.identityPoolID)
      $0.member("IdentityId", identityID)
      $0.member("DeveloperUserIdentifier", user)
      $0.member("DeveloperProviderName", pool.developerProvider)
    }
  }

  /// Nil where there is no such identity.
  private func find(
    _ operation: String, _ pool: AuthCore.Configuration.Pool,
    _ members: (inout JSONWriter) -> Void
  ) async throws(CognitoFailure) -> JSONValue? {
    do {
      return try await call(operation, pool, members)
    } catch  where error.code == "ResourceNotFoundException" {
      return nil
    }
  }

  /// Once more where the credentials were refused, with new ones, or where there was no answer.
  ///
  /// - Parameter isRepeatable: false where the first call may have changed something that the second
  ///   one would trip over.
  private func call(
    _ operation: String, _ pool: AuthCore.Configuration.Pool, isRepeatable: Bool = true,
    _ members: (inout JSONWriter) -> Void
  ) async throws(CognitoFailure) -> JSONValue {
    let (host, request) = try Self.request(operation, pool, endpoint, members)
    let start = ContinuousClock.now
    var result = "ok"
    defer {
      metrics.observe(.upstreamDuration, operation, time: .now - start)
      metrics.count(.upstreamRequests, operation, result)
    }
    do {
      do {
        return try await send(request, to: host, isSentOnce: !isRepeatable)
      } catch  where error.refusesCredentials || isRepeatable && error.code == "Unreachable" {
        return try await send(request, to: host, isSentOnce: !isRepeatable)
      }
    } catch {
      result = error.mayPass ? "unavailable" : error.refusesCredentials ? "credentials" : "error"
      throw error
    }
  }

  private static func request(
    _ operation: String, _ pool: AuthCore.Configuration.Pool, _ endpoint: String?,
    _ members: (inout JSONWriter) -> Void
  ) throws(CognitoFailure) -> (AWSHost, CredCore.HTTPRequest) {
    let region = CognitoSyntax.region(ofID: pool.identityPoolID)
    do throws(InvalidInput) {
      let host =
        if let endpoint {
          try AWSHost(.cognitoIdentity, region: region, custom: endpoint)
        } else {
          try AWSHost(.cognitoIdentity, region: region)
        }
      return (host, host.request("AWSCognitoIdentityService." + operation, members))
    } catch {
      throw CognitoFailure(code: "Unreachable", message: "\(error)")
    }
  }

  private func send(
    _ request: CredCore.HTTPRequest, to host: AWSHost, isSentOnce: Bool
  ) async throws(CognitoFailure) -> JSONValue {
    let keys: DeveloperCredentials
    let signed: CredCore.HTTPRequest
    do {
      keys = try await credentials.keys()
      signed = try keys.signer.sign(
        request, for: host, digests: Libcrypto(), now: now().wallTime)
    } catch {
      throw CognitoFailure(code: "Credentials", message: "\(error)")
    }
    if let end = keys.end {
      metrics.set(
        .credentialsExpiration,
        to: Double(end.milliseconds) / 1000)
    }
    let reply: HTTPReply
    do {
      reply = try await http.send(
        signed, within: AuthCore.Limits.cognitoTime, upTo: AuthCore.Limits.cognitoReplyBytes,
        isSentOnce: isSentOnce)
    } catch {
      throw CognitoFailure(code: "Unreachable", message: "\(host.url) does not answer: \(error)")
    }
    let body = try? JSONValue.parse(reply.body.bytes)
    if reply.status == 200, let body { return body }
    let failure = Self.failure(reply.status, body)
    if failure.refusesCredentials { await credentials.forget(keys) }
    throw failure
  }

  private static func failure(_ status: Int, _ body: JSONValue?) -> CognitoFailure {
    guard let type = body?["__type"]?.text else {
      return CognitoFailure(
        code: status == 429 ? "TooManyRequestsException" : "Unreachable",
        message: "an answer of status \(status) without an error of Cognito's")
    }
    let code = type.split(separator: "#").last.map(String.init) ?? type
    let message = body?["message"]?.text ?? body?["Message"]?.text
    return CognitoFailure(code: code, message: message ?? "no message")
  }
}

extension JSONWriter {
  /// Nothing where there is no value.
  fileprivate mutating func member(_ name: String, _ text: String?) {
    guard let text else { return }
    key(name)
    string(text)
  }

  fileprivate mutating func member(_ name: String, _ number: Int64) {
    key(name)
    integer(number)
  }

  fileprivate mutating func member(_ name: String, _ texts: [String: String]) {
    key(name)
    beginObject()
    for (name, text) in texts { member(name, text) }
    endObject()
  }
}

extension JSONValue {
  /// The texts of an array.
  fileprivate var texts: [String] {
    guard case .array(let elements) = self else { return [] }
    return elements.compactMap(\.text)
  }
}
