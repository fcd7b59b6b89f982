/// One line from a client, read.
public struct Request: Sendable, Equatable {
  public var id: RequestID?
  public var operation: Operation

  public init(id: RequestID? = nil, operation: Operation) {
    self.id = id
    self.operation = operation
  }

  /// Reads a line without its newline.
  ///
  /// `{}` asks for the credentials of the profile `default`. Keys that the operation does not have
  /// are refused, because a mistyped `min_ttl` that is ignored shows only when it hurts.
  ///
  /// - Throws: `InvalidRequest`, `UnknownOperation` or `UnknownProfile`. Positions are bytes from
  ///   the start of the line, counted from 0.
  public static func parse(_ line: [UInt8]) throws(RequestError) -> Request {
    let value: JSONValue
    do {
      value = try JSONValue.parse(line, limits: Limits.Line.json)
    } catch {
      throw RequestError(
        ProtocolError(
          .invalidRequest, "line is not valid JSON at byte \(error.offset): \(error.message)"))
    }
    var id: RequestID?
    do throws(ProtocolError) {
      let object = try RequestObject(value)
      id = try object.id()
      return Request(id: id, operation: try Operation(object))
    } catch {
      throw RequestError(error, id: id)
    }
  }
}

/// Why a line is not a request, and which request it would have been.
public struct RequestError: Error, Equatable, Sendable {
  public var error: ProtocolError
  /// The request's own id, where it could still be read.
  public var id: RequestID?

  public init(_ error: ProtocolError, id: RequestID? = nil) {
    self.error = error
    self.id = id
  }
}

/// What a client calls its request: a string or a number that comes back with the reply.
public struct RequestID: Sendable, Hashable {
  /// The value as JSON, ready to be put into a reply. A number is spelled as it came.
  public let json: [UInt8]

  public init(_ number: Int64) {
    json = Array(String(number).utf8)
  }

  public init(_ text: String) {
    var writer = JSONWriter()
    writer.string(text)
    json = writer.bytes
  }

  /// Nil for what is neither a string nor a number, or longer than `Limits.Line.idBytes`.
  init?(_ value: JSONValue) {
    var writer = JSONWriter()
    switch value {
    case .number(let digits) where digits.utf8.count <= Limits.Line.idBytes:
      writer.raw(Array(digits.utf8))
    case .string(let text) where text.count <= Limits.Line.idBytes:
      writer.string(text)
    default:
      return nil
    }
    json = writer.bytes
  }
}

/// What a client asks for (the `op` of a line).
public enum Operation: Sendable, Equatable {
  /// Credentials, in the credential_process format.
  case get(GetRequest)
  /// The developer token itself.
  case token(TokenRequest)
  /// State and IdentityId, without any upstream call.
  case identity(profile: String)
  case login(LoginRequest)
  /// - Parameter global: tell the backend too.
  case logout(profile: String, global: Bool)
  case clear(profile: String, ClearScope)
  /// Callers that wait for a sign-in get an error now.
  case release(profile: String)
  /// - Parameter all: every user's sessions, for root and the admin group.
  case status(all: Bool)
  /// - Parameter profile: nil for all of the caller's.
  case watch(profile: String?)
  case ping

  /// Whether the line that said this held no secret and may therefore be remembered.
  public var isFreeOfSecrets: Bool {
    if case .login = self { false } else { true }
  }
}

/// `get`.
public struct GetRequest: Sendable, Equatable {
  public var profile: String
  /// Refresh first where the credentials have less than this left.
  public var minTTL: Duration?
  /// Refresh first in any case.
  public var refresh: Bool
  /// How long the caller will wait for a refresh or a sign-in.
  public var wait: Duration
  /// In whose name, by name or uid; nil for the caller's own. The profile must allow it.
  public var user: String?

  public init(
    profile: String = ProfileName.default, minTTL: Duration? = nil, refresh: Bool = false,
    wait: Duration = Limits.Line.defaultWait, user: String? = nil
  ) {
    self.user = user
    self.profile = profile
    self.minTTL = minTTL
    self.refresh = refresh
    self.wait = wait
  }
}

/// `token`.
public struct TokenRequest: Sendable, Equatable {
  public var profile: String
  /// Fetch a new token first where the one at hand has less than this left.
  public var minTTL: Duration?
  /// How long the caller will wait for a new token or a sign-in.
  public var wait: Duration

  public init(
    profile: String = ProfileName.default, minTTL: Duration? = nil,
    wait: Duration = Limits.Line.defaultWait
  ) {
    self.profile = profile
    self.minTTL = minTTL
    self.wait = wait
  }
}

/// What `clear` forgets.
public enum ClearScope: String, Sendable, CaseIterable {
  /// The credentials; the identity stays.
  case credentials
  /// The identity too.
  case identity
}
