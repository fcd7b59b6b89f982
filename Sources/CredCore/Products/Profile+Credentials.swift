/// Whether local programs get credentials.
extension Profile {
  /// Why it gives no credentials; nil where it does.
  public var refusalOfCredentials: ProtocolError? {
    // Each `get` asks this: the usual answer must not cost a call.
    plan.product == .credentials ? nil : kind.refusalOfCredentials(in: self)
  }

  /// The refusal of credentials that are only for derived profiles.
  ///
  /// - Parameter others: derived profiles that the caller may use.
  public func vendsNothing(instead others: [String]) -> ProtocolError {
    let advice =
      others.isEmpty
      ? "and no profile that is derived from it is open to you"
      : "use one that is derived from it: \(others.joined(separator: ", "))"
    var error = ProtocolError(
      .accessDenied,
      "profile '\(settings.name)' gives no credentials to programs (vend_credentials = no); \(advice)"
    )
    if !others.isEmpty { error.reason = SignInReason.derivedProfile }
    return error
  }
}
