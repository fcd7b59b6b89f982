/// One reply line, rendered once and sent to each client that asks for it.
///
/// It may contain credentials and is as secret as they are, so it has no description.
public struct RenderedReply: Sendable, Equatable, Redacted {
  /// A JSON object and a newline.
  public let bytes: [UInt8]

  /// Renders `{"Version":1,…}` and a newline. The version is that of the credential_process format;
  /// every reply begins with it.
  ///
  /// - Parameter capacity: bytes to reserve. A reply with secrets is then never copied.
  init(capacity: Int = 256, _ members: (inout JSONWriter) -> Void) {
    var writer = JSONWriter(capacity: capacity)
    writer.beginObject()
    writer.field("Version", 1)
    members(&writer)
    writer.endObject()
    writer.endLine()
    bytes = writer.bytes
  }

  /// Appends the line, with the request's id as its last member.
  public func append(to buffer: inout [UInt8], id: RequestID? = nil) {
    guard let id else {
      buffer.append(contentsOf: bytes)
      return
    }
    buffer.append(contentsOf: bytes.dropLast(2))
    buffer.append(contentsOf: #","Id":"#.utf8)
    buffer.append(contentsOf: id.json)
    buffer.append(contentsOf: "}\n".utf8)
  }

  public var description: String { "<reply>" }
}

extension RenderedReply {
  /// The reply to `get`: exactly the credential_process format, in its documented order.
  public static func credentials(_ credentials: Credentials) -> RenderedReply {
    RenderedReply(capacity: 256 + credentials.sessionToken.count) { writer in
      writer.field("AccessKeyId", credentials.accessKeyID)
      writer.field("SecretAccessKey", credentials.secretAccessKey)
      writer.field("SessionToken", credentials.sessionToken)
      writer.field("Expiration", credentials.expiration)
      writer.field("AccountId", credentials.accountID)
    }
  }

  /// The reply to `token`. It has no `Expiration` if the token has none.
  public static func token(_ token: DeveloperToken, of identityID: IdentityID) -> RenderedReply {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The reply to `token` with a user pool's token.
  public static func token(_ token: HeldProviderToken, of identityID: IdentityID?) -> RenderedReply
  {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The reply to `identity`, `login`, `respond`, `logout` and `clear`: the session's state.
  ///
  /// - Parameter logoutURL: the page that ends the browser's own session at a provider.
  public static func session(
    profile: String, state: ReportedState, identityID: IdentityID? = nil,
    signedIn: SignedIn? = nil, logoutURL: String? = nil, derived: DerivedReport? = nil
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("State", state.rawValue)
      writer.field("IdentityId", identityID)
      writer.append(signedIn)
      writer.append(derived)
      writer.field("LogoutUrl", logoutURL)
    }
  }

  /// The reply to `release`.
  ///
  /// - Parameter waiters: the number of waiting requests that were answered.
  public static func released(profile: String, waiters: Int) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("Released", Int64(waiters))
    }
  }

  /// The reply to `endpoint`.
  ///
  /// - Parameter networkNamespace: the cookie of the listener's namespace; nil if the kernel gives
  ///   none.
  public static func endpoint(
    url: String, token: Secret, networkNamespace: UInt64?
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Url", url)
      writer.field("Token", token)
      writer.field("NetworkNamespace", networkNamespace.flatMap { Int64(exactly: $0) })
    }
  }

  /// The reply to `metrics`: text in Prometheus' classic format.
  public static func metrics(_ text: [UInt8]) -> RenderedReply {
    RenderedReply(capacity: 2 * text.count) { writer in
      writer.field("Metrics", String(decoding: text, as: UTF8.self))
    }
  }

  /// The reply to `ping`.
  ///
  /// - Parameters:
  ///   - operations: the operations of a socket with a cap; nil for all.
  ///   - profiles: the profiles that are open to the caller over this socket.
  public static func ping(
    version: String, pid: Int32, operations: Set<String>? = nil, profiles: [String] = []
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Daemon") { writer in
        writer.field("Version", version)
        writer.field("Pid", Int64(pid))
      }
      writer.field("Protocol", Int64(ProtocolVersion.number))
      writer.field("Operations", ProtocolVersion.operations(among: operations))
      writer.field("Features", ProtocolVersion.features(of: operations))
      guard operations != nil else { return }
      writer.key("Profiles")
      writer.beginArray()
      for profile in profiles {
        writer.beginObject()
        writer.field("Profile", profile)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  public static func error(_ error: ProtocolError) -> RenderedReply {
    RenderedReply { writer in writer.field("Error", error) }
  }
}
