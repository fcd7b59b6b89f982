/// A user of the organisation's own login system.
struct User: Sendable {
  let name: String
  var password: String
  var isDisabled = false
  /// The token callback wants the user's own session.
  var requiresSession = false
  /// What the sample server stores instead of the password, once the user has registered there.
  var saltedPassword: String?
}
