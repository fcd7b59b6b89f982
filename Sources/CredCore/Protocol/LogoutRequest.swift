/// `logout`: drops a session here, and ends it where it came from.
public struct LogoutRequest: Sendable, Equatable {
  public var profile: String
  /// Whether the user is signed out everywhere: the backend's `logout_url` is called too.
  public var global: Bool
  /// Whether refresh tokens are revoked at their issuer.
  public var revoke: Bool
  /// Whether the browser's session at a user pool ends with the refresh token.
  public var sso: Bool

  public init(
    profile: String = ProfileName.default, global: Bool = false, revoke: Bool = true,
    sso: Bool = false
  ) {
    (self.profile, self.global, self.revoke, self.sso) = (profile, global, revoke, sso)
  }

  init(_ object: RequestObject) throws(ProtocolError) {
    self.init(
      profile: try object.profile(), global: try object.flag("global"),
      revoke: try object.flag("revoke", standard: true), sso: try object.flag("sso"))
    guard revoke || !sso else {
      throw .invalid(
        #""sso" and "revoke": false exclude each other: the session ends with its refresh token"#)
    }
  }
}

extension Profile {
  /// Why a `logout` does not fit this profile.
  public func refusal(of logout: LogoutRequest) -> ProtocolError? {
    guard logout.sso, userPool == nil, signInProfile.userPool == nil else { return nil }
    return ProtocolError(
      .invalidRequest,
      "\"sso\" is for user pools, and profile '\(settings.name)' has none")
  }
}
