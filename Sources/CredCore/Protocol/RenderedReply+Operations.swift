extension RenderedReply {
  /// The answer to `get`: exactly the credential_process format, in its documented order.
  public static func credentials(_ credentials: Credentials) -> RenderedReply {
    RenderedReply(capacity: 256 + credentials.sessionToken.count) { writer in
      writer.field("AccessKeyId", credentials.accessKeyID)
      writer.field("SecretAccessKey", credentials.secretAccessKey)
      writer.field("SessionToken", credentials.sessionToken)
      writer.field("Expiration", credentials.expiration)
      writer.field("AccountId", credentials.accountID)
    }
  }

  /// The answer to `token`. `Expiration` is missing where the token does not say.
  public static func token(_ token: DeveloperToken, of identityID: IdentityID) -> RenderedReply {
    RenderedReply(capacity: 256 + token.token.count) { writer in
      writer.field("IdentityId", identityID)
      writer.field("Token", token.token)
      writer.field("Expiration", token.expiration)
    }
  }

  /// The answer to `identity`, `login`, `logout` and `clear`: how the session stands now.
  public static func session(
    profile: String, state: ReportedState, identityID: IdentityID? = nil
  ) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("State", state.rawValue)
      writer.field("IdentityId", identityID)
    }
  }

  /// The answer to `release`.
  ///
  /// - Parameter waiters: how many callers were let go.
  public static func released(profile: String, waiters: Int) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Profile", profile)
      writer.field("Released", Int64(waiters))
    }
  }

  /// The answer to `ping`.
  public static func ping(version: String, pid: Int32) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Daemon") { writer in
        writer.field("Version", version)
        writer.field("Pid", Int64(pid))
      }
    }
  }

  public static func error(_ error: ProtocolError) -> RenderedReply {
    RenderedReply { writer in writer.field("Error", error) }
  }
}
