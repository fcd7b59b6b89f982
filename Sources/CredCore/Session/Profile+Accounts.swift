extension Profile {
  /// The actions of `account` here. A derived profile has none: the sign-in is its source's.
  public var accountActions: [AccountAction] {
    hasSignIn ? backend?.kind.accountActions ?? [] : []
  }

  /// Why this action is not allowed at the profile's backend; nil if it is.
  public func refusal(of account: AccountRequest) -> ProtocolError? {
    guard let backend else {
      return ProtocolError(
        .invalidRequest, "profile '\(settings.name)' has no backend, and so no accounts")
    }
    if account.metadata != nil || account.validationData != nil,
      let error = refusalOfMetadata(at: userPool)
    {
      return error
    }
    return backend.kind.refusal(
      of: account.input, at: "backend '\(backend.name)' of profile '\(settings.name)'")
  }
}
