/// Which tokens local programs get.
extension Profile {
  /// The kind of token that the operation `token` gives.
  ///
  /// - Parameter holdsToken: whether the session has a developer token that a client brought.
  /// - Throws: why `token` gives none.
  public func tokenKind(
    _ asked: TokenKind?, holdsToken: Bool
  ) throws(ProtocolError) -> TokenKind {
    if let error = kind.refusal(ofToken: asked, in: self) { throw error }
    let asked = try settings.vendCredentials ? asked : narrowedKind(asked)
    guard userIssuer != nil else {
      guard asked == nil || asked == .developer else {
        throw .invalid(
          "profile '\(settings.name)' has no provider of users, and so no tokens of the kind "
            + (asked?.rawValue ?? "").quoted)
      }
      guard asked != nil || settings.developerProvider != nil || holdsToken else {
        throw ProtocolError(
          .accessDenied,
          "profile '\(settings.name)' hands out no tokens: it has neither developer_provider nor "
            + "vend_tokens")
      }
      return .developer
    }
    // In a profile with a linked provider, vend_tokens does not concern the backend's own token.
    if plan.backend.issuer == nil, asked ?? .developer == .developer { return .developer }
    let vended = settings.vendTokens.compactMap(\.kind)
    guard let kind = asked ?? vended.first else {
      throw ProtocolError(
        .accessDenied, "profile '\(settings.name)' hands out no tokens: see vend_tokens")
    }
    guard kind != .developer else {
      throw .invalid(
        "the users of profile '\(settings.name)' sign in to a "
          + "\(plan.backend.issuer?.traits.words.short ?? "provider"), which gives no developer tokens"
      )
    }
    guard vended.contains(kind) else {
      throw ProtocolError(
        .accessDenied,
        "profile '\(settings.name)' hands out no \(kind.rawValue) tokens: see vend_tokens")
    }
    return kind
  }

  /// Where credentials are not given, tokens by which others could get them are given only by name.
  private func narrowedKind(_ asked: TokenKind?) throws(ProtocolError) -> TokenKind {
    let named = settings.vendTokens.compactMap(\.kind)
    guard let kind = asked ?? named.first, named.contains(kind) else {
      throw ProtocolError(
        .accessDenied,
        "profile '\(settings.name)' gives no credentials, and only the tokens that vend_tokens names: "
          + (named.isEmpty ? "none" : named.map(\.rawValue).joined(separator: ", ")))
    }
    return kind
  }

  /// Why a program does not get this access token; nil if it may.
  public func refusal(ofVending token: HeldProviderToken) -> ProtocolError? {
    guard let issuer = userIssuer, issuer.traits.marksAccountTokens else {
      return nil
    }
    guard token.mayChangeAccount, !settings.vendTokens.contains(.account) else { return nil }
    return ProtocolError(
      .accessDenied,
      "this access token may change the user's account, which takes the word 'account' in "
        + "vend_tokens of profile '\(settings.name)'")
  }
}
