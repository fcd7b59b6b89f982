/// Profiles with `flow = direct`: what they refuse.
extension Profile {
  /// Why a user whom the provider has accepted cannot have the role's session; nil if nothing is in the
  /// way. It is known before STS is asked.
  public func refusal(
    of signIn: AcceptedSignIn, for user: UnixUser, host: String
  ) -> UpstreamFailure? {
    do {
      _ = try directRole?.sessionName(for: signIn.tokens.id.token, user, host: host)
      return nil
    } catch {
      return .unfitUser(error)
    }
  }
}
