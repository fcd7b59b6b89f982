import Logging

/// The client that asks for a sign-in, the means and the user name.
struct SignInAsker {
  var means = ""
  var metadata: Logger.Metadata = [:]

  /// - Parameter username: the name at the backend or the provider; empty if it is not known yet.
  func named(_ username: String) -> Self {
    guard !username.isEmpty else { return self }
    var named = self
    named.metadata["username"] = "\(username)"
    return named
  }
}
