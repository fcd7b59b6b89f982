/// Warnings of profiles that give less, where the same users get more in another way.
extension ConfigurationReader {
  mutating func warnOfWaysRound(_ profile: DerivedProfile) {
    let root = profile.root
    // Without credentials there is nothing to go round, and that is an error.
    guard root.way.hasCredentialsOfItsOwn else { return }
    warnOfSources(of: profile)
    warnOfStrangers(to: profile)
    // AmazonCognitoUnAuthedIdentitiesSessionPolicy has no action of STS.
    if case .pool(let pool) = root.way, pool.guest, pool.flow == .enhanced {
      diagnostics.warning(
        at: profile.position,
        "source_profile: guests of [profile \(root.name)] get no credentials here: Cognito's own policy "
          + "for guests allows no call of STS")
    }
  }

  /// A role alone takes nothing from its source's users. A policy, tags and an identity bind them. If a
  /// socket with a cap has the profile and not its source, that socket binds its users: no warning.
  private mutating func warnOfSources(of profile: DerivedProfile) {
    let settings = profile.settings
    guard profile.derived.binds else { return }
    let callers = AllowedCallers([settings] + profile.sources)
    for (index, source) in profile.sources.enumerated() where source.vendCredentials {
      guard callers.are(within: AllowedCallers(profile.sources[index...])),
        !socketSections.contains(where: { $0.settings.has(settings.name, butNot: source.name) })
      else { continue }
      diagnostics.warning(
        at: profile.section.position,
        "\(settings.name) binds nobody: set vend_credentials = no in '\(source.name)', or give the "
          + "program a socket with a cap")
    }
  }

  private mutating func warnOfStrangers(to profile: DerivedProfile) {
    guard let source = profile.sources.first, profile.settings.hasOwnLists else { return }
    let callers = AllowedCallers([profile.settings] + profile.sources)
    guard let others = callers.others(than: AllowedCallers(profile.sources[...])) else { return }
    diagnostics.warning(
      at: profile.section.position(of: others.key),
      "\(others.key): [profile \(source.name)] does not admit \(others.words), who cannot sign in there, "
        + "and gets credentials here only where the backend trusts this host")
  }

  // MARK: vend_credentials = no

  /// Other profiles by which the same users get what one does not give.
  mutating func checkWithheld() {
    let profiles = configuration.profiles.sorted { $0.key < $1.key }.map(\.value)
      .filter(\.way.hasCredentialsOfItsOwn)
    let open = Dictionary(
      grouping: profiles.filter(\.vendCredentials).map { ($0, AllowedCallers([$0])) },
      by: { SharedIdentity($0.0) })
    for profile in profiles where !profile.vendCredentials {
      let callers = AllowedCallers([profile])
      let other = open[SharedIdentity(profile)]?.first { callers.mayMeet($0.1) }?.0
      guard let other else { continue }
      diagnostics.warning(
        at: positions["profile \(profile.name)/vend_credentials"],
        "vend_credentials: [profile \(other.name)] may give the same users the credentials of the same "
          + "identity; set vend_credentials = no there, too, or admit other users there")
    }
  }

  /// By these tokens their holder gets the wide role from Cognito.
  ///
  /// - Parameter giver: who takes them.
  mutating func warnOfVended(_ words: [VendedToken], by giver: String, _ section: INISection) {
    for word in words where [.developer, .id].contains(word) {
      diagnostics.warning(
        at: section.position(of: "vend_tokens"),
        "vend_tokens: '\(word.rawValue)' opens the wide role: for this token \(giver) gives the "
          + "credentials that 'vend_credentials = no' withholds")
    }
  }
}

/// Two profiles with equal values give a user the same identity, or without a pool the same role.
private struct SharedIdentity: Hashable {
  let pool: String
  let provider: String?
  /// The user identifier, or the backend that is a provider itself.
  let user: String?

  init(_ profile: ProfileSettings) {
    guard case .pool(let pool) = profile.way else {
      (self.pool, provider) = (profile.way.session?.roleARN ?? "", nil)
      user = profile.backend
      return
    }
    (self.pool, provider) = (pool.id, pool.developerProvider)
    user = provider == nil ? profile.backend : pool.userIdentifier.text
  }
}

extension SocketSettings {
  fileprivate func has(_ profile: String, butNot source: String) -> Bool {
    profiles.contains(profile) && !profiles.contains(source)
  }
}

extension DerivedSettings {
  /// Whether it takes more from its users than the source's credentials would.
  fileprivate var binds: Bool {
    session.roleARN == nil || session.policyFile != nil || !session.policyARNs.isEmpty
      || !tags.isEmpty || sourceIdentity != nil
  }
}
