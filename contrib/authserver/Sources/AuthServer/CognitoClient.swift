public import AuthCore
import FoundationEssentials
import NIOHTTP1

/// The operations of Cognito Identity that want developer credentials.
public protocol Cognito: Sendable {
  /// GetOpenIdTokenForDeveloperIdentity.
  func token(
    pool: AuthCore.Configuration.Pool, user: String, logins: [String: String], identityID: String?
  ) async throws(CognitoFailure) -> CognitoToken
  /// LookupDeveloperIdentity by identity: its developer users; nil where it is not known.
  func users(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]?
  /// LookupDeveloperIdentity by user; nil where the user has no identity.
  func identity(
    ofUser user: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String?
  /// DescribeIdentity: the providers linked to an identity; nil where it is not known.
  func logins(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]?
  /// MergeDeveloperIdentities: the first user's identity goes up in the second's.
  func merge(
    _ source: String, into destination: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String
  /// UnlinkDeveloperIdentity.
  func unlink(
    _ user: String, from identityID: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure)
}

public struct CognitoToken: Sendable, Equatable {
  public var identityID: String
  public var token: String

  public init(identityID: String, token: String) {
    self.identityID = identityID
    self.token = token
  }
}

/// Why a call of Cognito had no answer of its own.
public struct CognitoFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// AWS's error code; `Unreachable` where there was no answer, `Credentials` where this server has
  /// none of AWS's.
  public var code: String
  public var message: String

  public init(code: String, message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(code): \(message)" }

  /// AWS does not accept the credentials of this server.
  var refusesCredentials: Bool {
    [
      "UnrecognizedClientException", "InvalidSignatureException", "AccessDeniedException",
      "ExpiredTokenException", "MissingAuthenticationTokenException",
      "IncompleteSignatureException",
      "InvalidClientTokenId", "Credentials",
    ].contains(code)
  }

  var mayPass: Bool {
    ["Unreachable", "InternalErrorException", "ExternalServiceException", "ServiceUnavailable"]
      .contains(code)
  }
}

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

  private struct Request: Encodable {
    var IdentityPoolId: String?
    var IdentityId: String?
    var Logins: [String: String]?
    var TokenDuration: Int64?
    var DeveloperUserIdentifier: String?
    var DeveloperProviderName: String?
    var SourceUserIdentifier: String?
    var DestinationUserIdentifier: String?
    var MaxResults: Int?
    var NextToken: String?
  }

  private struct Reply: Decodable {
    var IdentityId: String?
    var Token: String?
    var DeveloperUserIdentifierList: [String]?
    var NextToken: String?
    var Logins: [String]?
  }

  private struct ErrorReply: Decodable {
    var __type: String?
    var message: String?
    var Message: String?
  }

  public func token(
    pool: AuthCore.Configuration.Pool, user: String, logins: [String: String], identityID: String?
  ) async throws(CognitoFailure) -> CognitoToken {
    var all = logins
    all[pool.developerProvider] = user
    let reply = try await call(
      "GetOpenIdTokenForDeveloperIdentity", pool,
      Request(
        IdentityPoolId: pool.identityPoolID, IdentityId: identityID, Logins: all,
        TokenDuration: pool.tokenDuration.milliseconds / 1000))
    guard let id = reply.IdentityId, CognitoSyntax.isID(id), let token = reply.Token,
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
      let request = Request(
        IdentityPoolId: pool.identityPoolID, IdentityId: id, MaxResults: 60, NextToken: page)
      do {
        let reply = try await call("LookupDeveloperIdentity", pool, request)
        users += reply.DeveloperUserIdentifierList ?? []
        page = reply.NextToken
      } catch  where error.code == "ResourceNotFoundException" {
        return nil
      }
      pages += 1
    } while page != nil && pages < 4
    return users
  }

  public func identity(
    ofUser user: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String? {
    let request = Request(
      IdentityPoolId: pool.identityPoolID, DeveloperUserIdentifier: user, MaxResults: 1)
    do {
      return try await call("LookupDeveloperIdentity", pool, request).IdentityId
    } catch  where error.code == "ResourceNotFoundException" {
      return nil
    }
  }

  public func logins(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]? {
    do {
      return try await call("DescribeIdentity", pool, Request(IdentityId: id)).Logins ?? []
    } catch  where error.code == "ResourceNotFoundException" {
      return nil
    }
  }

  public func merge(
    _ source: String, into destination: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String {
    let reply = try await call(
      "MergeDeveloperIdentities", pool,
      Request(
        IdentityPoolId: pool.identityPoolID, DeveloperProviderName: pool.developerProvider,
        SourceUserIdentifier: source, DestinationUserIdentifier: destination))
    guard let id = reply.IdentityId else {
      throw CognitoFailure(code: "Unreachable", message: "the answer names no identity")
    }
    return id
  }

  public func unlink(
    _ user: String, from identityID: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) {
    _ = try await call(
      "UnlinkDeveloperIdentity", pool,
      Request(
        IdentityPoolId: pool.identityPoolID, IdentityId: identityID, DeveloperUserIdentifier: user,
        DeveloperProviderName: pool.developerProvider))
  }

  /// Once more where the credentials were refused, with new ones, or where there was no answer.
  private func call(
    _ operation: String, _ pool: AuthCore.Configuration.Pool, _ request: Request
  ) async throws(CognitoFailure) -> Reply {
    let start = ContinuousClock.now
    var result = "ok"
    defer {
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      metrics.observe(
        "credd_authserver_upstream_duration_seconds", "operation=\"\(operation)\"", seconds: seconds
      )
      metrics.count(
        "credd_authserver_upstream_requests_total",
        "operation=\"\(operation)\",result=\"\(result)\"")
    }
    do {
      do {
        return try await send(operation, pool, request)
      } catch  where error.code == "Unreachable" || error.refusesCredentials {
        return try await send(operation, pool, request)
      }
    } catch {
      result = error.mayPass ? "unavailable" : error.refusesCredentials ? "credentials" : "error"
      throw error
    }
  }

  private func send(
    _ operation: String, _ pool: AuthCore.Configuration.Pool, _ request: Request
  ) async throws(CognitoFailure) -> Reply {
    let keys: AWSKeys
    do { keys = try await credentials.keys() } catch {
      throw CognitoFailure(code: "Credentials", message: "\(error)")
    }
    if let end = keys.expires {
      metrics.set(
        "credd_authserver_aws_credentials_expiration_timestamp_seconds",
        to: Double(end.milliseconds) / 1000)
    }
    let (status, body) = try await exchange(operation, pool, request, keys)
    if status == 200, let reply = try? JSONDecoder().decode(Reply.self, from: body) { return reply }
    let failure = Self.failure(status, body)
    if failure.refusesCredentials { await credentials.forget(keys) }
    throw failure
  }

  private func exchange(
    _ operation: String, _ pool: AuthCore.Configuration.Pool, _ request: Request, _ keys: AWSKeys
  ) async throws(CognitoFailure) -> (status: Int, body: Data) {
    let region = CognitoEndpoint.region(ofPool: pool.identityPoolID)
    let base = endpoint ?? CognitoEndpoint.url(region: region)
    let host = String(base.drop { $0 != "/" }.dropFirst(2))
    guard let origin = HTTPClient.Origin(base), let body = try? JSONEncoder().encode(request) else {
      throw CognitoFailure(code: "Unreachable", message: "\(base) is no address of a server")
    }
    var headers: HTTPHeaders = ["Host": host]
    for header in SigV4.headers(
      target: "AWSCognitoIdentityService." + operation, body: body, host: host, region: region,
      keys: keys, at: now())
    {
      headers.add(name: header.name, value: header.value)
    }
    do {
      let reply = try await http.send(
        .POST, "/", to: origin, headers: headers, body: Array(body), within: Limits.cognitoTime,
        upTo: Limits.cognitoReplyBytes)
      return (reply.status, Data(reply.body))
    } catch {
      throw CognitoFailure(code: "Unreachable", message: "\(host) does not answer: \(error)")
    }
  }

  private static func failure(_ status: Int, _ body: Data) -> CognitoFailure {
    let reply = try? JSONDecoder().decode(ErrorReply.self, from: body)
    guard let type = reply?.__type else {
      return CognitoFailure(
        code: status == 429 ? "TooManyRequestsException" : "Unreachable",
        message: "an answer of status \(status) without an error of Cognito's")
    }
    let code = type.split(separator: "#").last.map(String.init) ?? type
    return CognitoFailure(code: code, message: reply?.message ?? reply?.Message ?? "no message")
  }
}
