/// Profiles whose credentials come from another one's.
extension Profile {
  /// Why an operation that is about a sign-in is not for a derived profile; nil for other profiles.
  public func refusalOfSignIn(_ operation: String) -> ProtocolError? {
    guard !hasSignIn else { return nil }
    var error = ProtocolError.invalid(
      "profile '\(settings.name)' has no sign-in of its own: \(operation.quoted) is for its source, "
        + "profile '\(root.settings.name)'")
    error.reason = SignInReason.derivedProfile
    return error
  }

  /// The refusal of a derived profile's request, where nobody is signed in to its source.
  ///
  /// - Parameters:
  ///   - reason: why only a sign-in helps.
  ///   - mayUseSource: whether the caller may sign in there.
  public func signInRequired(_ reason: String, mayUseSource: Bool) -> ProtocolError {
    let source = root.settings.name
    let advice =
      mayUseSource
      ? "sign in there with 'credctl login \(source)'"
      : "an administrator must admit this user to profile '\(source)' first"
    var error = ProtocolError(
      .signInRequired,
      "profile '\(settings.name)' is derived from '\(source)': \(reason); \(advice)")
    error.reason = SignInReason.derivedProfile
    return error
  }
}
