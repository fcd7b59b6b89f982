extension Derivation {
  /// Why an answer of STS is not used: what it gives may be wider than what was asked for. Nil if it fits.
  ///
  /// - Parameters:
  ///   - sent: the request that it answers.
  ///   - now: STS's time.
  public func fault(
    in reply: SignedReply, to sent: DerivedRequest, from source: SourceCredentials, now: WallTime
  ) -> DerivedFault? {
    if reply.credentials.accessKeyID == source.credentials.accessKeyID { return .sameKey }
    if reply.credentials.expiration <= now { return .ended }
    switch call {
    case .scope: return faultOfScope(reply, source, now)
    case .hop(let hop): return faultOfHop(reply, hop, sessionName: sent.sessionName, now)
    }
  }

  private func faultOfScope(
    _ reply: SignedReply, _ source: SourceCredentials, _ now: WallTime
  ) -> DerivedFault? {
    guard let scopes = reply.scopes,
      policy == nil
        ? scopes >= (source.credentials.session?.scopes ?? 0)
        : scopes > (source.credentials.session?.scopes ?? 0)
    else { return .unscoped }
    let isOther =
      (source.credentials.session?.arn).map { $0 != reply.sessionARN }
      ?? account(of: source).map { $0 != reply.credentials.accountID } ?? false
    if isOther { return .otherSession }
    if let duration, reply.credentials.expiration - now > duration + Self.margin { return .late }
    return reply.credentials.expiration - source.credentials.expiration > Self.margin ? .late : nil
  }

  private func faultOfHop(
    _ reply: SignedReply, _ hop: RoleHop, sessionName: String?, _ now: WallTime
  ) -> DerivedFault? {
    guard hop.isOwn(reply.sessionARN, sessionName: sessionName) else { return .otherSession }
    let asked = duration ?? RoleSessionSettings.standardDuration
    return reply.credentials.expiration - now > asked + Self.margin ? .late : nil
  }
}

extension RoleHop {
  /// Whether a session's ARN has the account and the name of the role, and the session name.
  fileprivate func isOwn(_ arn: String, sessionName: String?) -> Bool {
    func parts(_ arn: String) -> [Substring] {
      arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    }
    let (role, session) = (parts(roleARN), parts(arn))
    guard role.count == 6, session.count == 6, let name = role[5].split(separator: "/").last,
      let sessionName
    else { return false }
    return session[2] == "sts" && session[1] == role[1] && session[4] == role[4]
      && session[5].utf8.elementsEqual("assumed-role/\(name)/\(sessionName)".utf8)
  }
}

/// What is wrong with STS's answer to a call for less.
public enum DerivedFault: Sendable, Equatable {
  case sameKey, ended, unscoped, otherSession, late

  /// Follows "STS's answer is refused: ".
  public var text: String {
    switch self {
    case .sameKey: "it has the source's own access key"
    case .ended: "it has expired already"
    case .unscoped: "it does not count the policy"
    case .otherSession: "it names another session than that which was asked for"
    case .late: "it ends later than was asked for"
    }
  }
}
