package import CredCore

/// An action of `account` with everything needed to make it.
package struct AccountCall: Sendable {
  /// The id by which the outcome finds the waiting client.
  package let id: CallID
  /// The profile when the call began.
  package let profile: Profile
  /// The user who asks.
  package let user: UnixUser
  /// The action.
  package let input: AccountInput
  /// For the triggers of a user pool.
  package var metadata = ClientMetadata()
  /// The same, for the first trigger of a sign-up.
  package var validationData = ClientMetadata()
  /// Nil for an action before a sign-in.
  package let signedIn: SignedIn?

  /// The user of the account.
  package struct SignedIn: Sendable {
    let session: ProviderSession
    let accessToken: Secret
    /// Whether the session held the token before. A held token may have been revoked.
    let isHeld: Bool
  }
}
