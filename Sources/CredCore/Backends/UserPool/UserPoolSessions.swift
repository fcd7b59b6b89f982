/// Sessions of a user that the pool tracks (cognito-idp of botocore 1.44.8): one for each sign-in, at
/// any app client.
extension UserPoolClient {
  /// ListUserSessions: one page.
  ///
  /// - Parameter token: `next` of the former page.
  public func listSessions(accessToken: Secret, after token: String? = nil) -> HTTPRequest {
    userRequest(.listUserSessions, accessToken) { $0.field("NextToken", token) }
  }

  /// Reads the reply to ListUserSessions.
  public func sessions(from reply: HTTPReply) throws(UpstreamFailure) -> TrackedSessionPage {
    let object = try success(reply, .ownAccount)
    return try checked(upstream) { () throws(InvalidInput) in
      var sessions: [TrackedSession] = []
      if case .array(let elements)? = object["Sessions"] {
        for element in elements { sessions.append(try TrackedSession(element)) }
      }
      return TrackedSessionPage(sessions: sessions, next: object["NextToken"]?.text)
    }
  }

  /// RevokeUserSession ends this session alone. RevokeAssociatedSessions could also end the session
  /// that asks, if the ended session is a browser's.
  public func endSession(accessToken: Secret, _ session: TrackedSessionID) -> HTTPRequest {
    userRequest(.revokeUserSession, accessToken) { $0.field("SessionId", session.text) }
  }

  /// Reads the reply to RevokeUserSession.
  public func sessionEnded(_ reply: HTTPReply) throws(UpstreamFailure) {
    _ = try success(reply, .ownSession, mayBeEmpty: true)
  }
}

/// A tracked session's id: `(tkn|sso)[a-z0-9]{25}`.
public struct TrackedSessionID: Sendable, Equatable {
  public enum Kind: String, Sendable {
    /// An app's, with a refresh token.
    case token
    /// A browser's, at the pool's own pages.
    case sso
  }

  public let text: String
  public let kind: Kind

  public init(_ text: String) throws(InvalidInput) {
    guard text.utf8.count == Limits.UserPool.sessionIDLength,
      text.utf8.allSatisfy({ $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
      let kind: Kind = text.hasPrefix("tkn") ? .token : text.hasPrefix("sso") ? .sso : nil
    else {
      throw InvalidInput(
        field: "SessionId",
        reason:
          "is not tkn or sso and \(Limits.UserPool.sessionIDLength - 3) small letters and digits"
      )
    }
    self.text = text
    self.kind = kind
  }
}

/// A part of a user's sessions.
public struct TrackedSessionPage: Sendable, Equatable {
  public let sessions: [TrackedSession]
  /// Where the next page begins; nil after the last one.
  public let next: String?
}

/// A session in the pool's list.
public struct TrackedSession: Sendable, Equatable {
  public let id: TrackedSessionID
  /// The id of its app client.
  public let client: String?
  public let created: WallTime?
  /// The last renewal; of a browser's session, also the last sign-in to an app.
  public let lastUsed: WallTime?
  /// An IP address.
  public let lastAddress: String?
  /// City and country, as the pool guesses them from the address.
  public let place: String?
  /// System and program, as the pool reads them in User-Agent.
  public let device: String?
  /// Whether the access token that asked belongs to it.
  public let isThis: Bool

  init(_ object: JSONValue) throws(InvalidInput) {
    func text(_ value: JSONValue?) -> String? {
      guard let text = value?.secret.flatMap({ RemoteText.plain($0.bytes) }), text != "unknown"
      else { return nil }
      return text
    }
    id = try TrackedSessionID(object.requiredText("SessionId"))
    client = text(object["ClientId"])
    created = object["CreateDate"]?.plausibleTime
    lastUsed = object["LastActiveDate"]?.plausibleTime
    lastAddress = text(object["LastIPAddress"])
    let location = object["LastLocation"]
    let parts = [text(location?["City"]), text(location?["Country"])].compactMap(\.self)
    place = parts.isEmpty ? nil : parts.joined(separator: ", ")
    device = text(object["DeviceType"])
    isThis = object["IsCurrentSession"]?.bool ?? false
  }
}
