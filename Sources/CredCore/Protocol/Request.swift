/// A parsed line of a client.
public struct Request: Sendable, Equatable {
  public var id: RequestID?
  /// The purpose that the client states. credd decides nothing by it.
  public var purpose: String?
  public var operation: Operation

  public init(id: RequestID? = nil, purpose: String? = nil, operation: Operation) {
    self.id = id
    self.purpose = purpose
    self.operation = operation
  }

  /// Reads a line without its newline.
  ///
  /// `{}` asks for the credentials of the profile `default`. Keys that the operation does not have
  /// are errors: a client would notice a misspelt `min_ttl` only when its credentials expire early.
  ///
  /// - Parameter standard: the profile of a request that names none.
  /// - Throws: `InvalidRequest`, `UnknownOperation` or `UnknownProfile`. Positions are bytes from
  ///   the start of the line, counted from 0.
  public static func parse(
    _ line: [UInt8], standardProfile standard: String = ProfileName.default
  ) throws(RequestError) -> Request {
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
      let object = try RequestObject(value, standardProfile: standard)
      id = try object.id()
      return Request(
        id: id, purpose: try object.purpose(), operation: try Operation(object))
    } catch {
      var failure = RequestError(error, id: id)
      if case .object = value {
        let name = value["op"].map { $0.text ?? "" } ?? OperationName.get.rawValue
        failure.operation = OperationName(rawValue: name)?.rawValue
      }
      throw failure
    }
  }
}

/// The error of a line that is no request, with the request's id.
public struct RequestError: Error, Equatable, Sendable {
  public var error: ProtocolError
  /// The id; nil if the line has none or if it could not be read.
  public var id: RequestID?
  /// The name of the operation, if it is a known one.
  public var operation: String?

  public init(_ error: ProtocolError, id: RequestID? = nil) {
    self.error = error
    self.id = id
  }
}

/// A client's name for its request: a string or a number that the reply repeats.
public struct RequestID: Sendable, Hashable {
  /// The value as JSON for the reply. A number keeps its spelling.
  public let json: [UInt8]

  public init(_ number: Int64) {
    json = Array(String(number).utf8)
  }

  public init(_ text: String) {
    var writer = JSONWriter()
    writer.string(text)
    json = writer.bytes
  }

  /// Returns nil if the value is neither a string nor a number, or is longer than
  /// ``Limits/Line/idBytes``.
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

/// `get`.
public struct GetRequest: Sendable, Equatable {
  public var profile: String
  /// The lifetime that the credentials must have left; otherwise they are refreshed first.
  public var minTTL: Duration?
  /// Whether the credentials are refreshed first in any case.
  public var refresh: Bool
  /// The longest wait for a refresh or a sign-in.
  public var wait: Duration
  /// The user, by name or uid, for whom the caller asks; nil for the caller itself. The profile
  /// must allow this.
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
  /// The lifetime that the held token must have left; otherwise a new one is fetched first.
  public var minTTL: Duration?
  /// Whether a new token is fetched first in any case.
  public var refresh: Bool
  /// The longest wait for a new token or a sign-in.
  public var wait: Duration
  /// Nil: the profile's own kind.
  public var kind: TokenKind?

  public init(
    profile: String = ProfileName.default, minTTL: Duration? = nil, refresh: Bool = false,
    wait: Duration = Limits.Line.defaultWait, kind: TokenKind? = nil
  ) {
    self.profile = profile
    self.minTTL = minTTL
    self.refresh = refresh
    self.wait = wait
    self.kind = kind
  }
}

/// `status`.
public struct StatusRequest: Sendable, Equatable {
  /// The sessions of all users, for root and the admin group.
  public var all: Bool
  /// Whether the reply also has the profiles that are open to the caller.
  public var profiles: Bool
  /// The most sessions of the reply.
  public var limit: Int
  /// The session after which the page begins; nil for the first page.
  public var after: SessionCursor?

  public init(
    all: Bool = false, profiles: Bool = false, limit: Int = Limits.Line.standardStatusPage,
    after: SessionCursor? = nil
  ) {
    self.all = all
    self.profiles = profiles
    self.limit = limit
    self.after = after
  }
}

/// A session's position among all, as `status` names it in `Next` and takes it in `after`. The
/// session may have ended meanwhile.
public struct SessionCursor: Sendable, Equatable {
  public let uid: UInt32
  public let profile: String

  public init(uid: UInt32, profile: String) {
    self.uid = uid
    self.profile = profile
  }

  /// Reads ``text``; nil for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, parts[0].utf8.allSatisfy(\.isDigit), let uid = UInt32(parts[0]),
      parts[1].isProfileName
    else { return nil }
    self.init(uid: uid, profile: parts[1])
  }

  public var text: String { "\(uid)/\(profile)" }
}

/// What `clear` removes.
public enum ClearScope: String, Sendable, CaseIterable {
  /// The credentials; the identity stays.
  case credentials
  /// The identity too.
  case identity
}
