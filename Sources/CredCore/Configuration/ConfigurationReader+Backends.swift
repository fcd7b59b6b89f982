/// What profiles want of their backends.
extension ConfigurationReader {
  mutating func check(_ references: [BackendReference]) {
    let known = Set(backendHeaders.map(\.name))
    let named =
      references.map { ("backend", $0.name, $0.position) }
      + references.compactMap(\.link).map { ("link_backend", $0.name, $0.position) }
    for (key, name, position) in named where !known.contains(name) {
      diagnostics.error(
        at: position,
        "\(key): there is no [backend \(name)]"
          + NearestName.suggestion(name, in: backendHeaders.map(\.name)))
    }
    for reference in references {
      if !reference.needsProvider { checkProvider(of: reference) }
      checkLink(of: reference)
      checkChoices(of: reference)
    }
    let used = Set(named.map(\.1))
    for header in backendHeaders where !used.contains(header.name) {
      diagnostics.warning(
        at: header.position, "no profile uses the backend \(header.name.singleQuoted)")
    }
  }

  /// A backend names users of the identity pool's developer provider. If the backend is itself a
  /// provider, the key would have no effect, and credd would take its logins for those of the
  /// developer provider.
  private mutating func checkProvider(of reference: BackendReference) {
    switch (reference.developerProvider, backendTypes[reference.name]?.provider) {
    case (nil, nil):
      diagnostics.error(at: reference.position, "backend: requires 'developer_provider'")
    case (let position?, let provider?):
      diagnostics.error(
        at: position,
        "developer_provider: [backend \(reference.name)] is \(provider.words.article) "
          + "\(provider.words.name), which needs none")
    default: break
    }
  }

  /// Only a backend that gets logins can link a provider's sign-ins.
  private mutating func checkLink(of reference: BackendReference) {
    guard let (name, position) = reference.link, let type = backendTypes[name] else { return }
    switch configuration.backends[name]?.kind {
    case nil: break
    case let provider as any ProviderKind:
      // The passwords of the linked provider would be taken for the backend's.
      guard let reason = provider.lackOfBrowser, takesPasswords(reference.name) else { break }
      diagnostics.error(
        at: position,
        "link_backend: [backend \(name)] \(reason), and a password would be taken for one of "
          + "[backend \(reference.name)]")
    default:
      let providers = BackendType.providers.map(\.rawValue).joined(separator: " or ")
      diagnostics.error(
        at: position,
        "link_backend: [backend \(name)] is of type \(type.rawValue), not \(providers)")
    }
    guard let backend = configuration.backends[reference.name]?.kind else { return }
    if backend is any ProviderKind {
      diagnostics.error(
        at: position,
        "link_backend: [backend \(reference.name)] is a provider itself: only a backend with a "
          + "developer_provider links others")
    } else if !backend.takesLogins {
      diagnostics.error(
        at: position,
        "link_backend: [backend \(reference.name)] has method = GET, which carries no logins")
    }
  }

  private func takesPasswords(_ backend: String) -> Bool {
    configuration.backends[backend]?.kind.takesPasswords ?? false
  }

  /// Only a provider, the backend itself or a linked one, has tokens for programs. Only for AWS's
  /// own hosts can FIPS and dualstack be chosen.
  private mutating func checkChoices(of reference: BackendReference) {
    checkVended(by: reference)
    guard let fixed = configuration.backends[reference.name]?.kind.fixedHostKey else { return }
    for (key, position) in reference.ofProvider.hosts {
      diagnostics.error(
        at: position,
        "\(key): cannot be combined with '\(fixed)' of [backend \(reference.name)]")
    }
  }

  private mutating func checkVended(by reference: BackendReference) {
    guard let type = backendTypes[reference.name] else { return }
    let (words, position) = (reference.ofProvider.tokens, reference.ofProvider.tokensPosition)
    if reference.needsProvider, type.provider == nil { return }
    guard let provider = type.provider else {
      if words.contains(.developer), reference.ofProvider.vendsCredentials {
        refuseDeveloper(at: position)
      }
      guard reference.link == nil, words.contains(where: { $0 != .developer }) else { return }
      return diagnostics.error(
        at: position,
        "vend_tokens: [backend \(reference.name)] is no user pool, and has no tokens for programs")
    }
    guard words.contains(.developer) else { return }
    diagnostics.error(
      at: position,
      "vend_tokens: [backend \(reference.name)] is \(provider.words.article) "
        + "\(provider.words.name), which gives no 'developer' tokens")
  }
}

extension BackendReference.OfProvider {
  init(_ settings: ProfileSettings, _ section: INISection) {
    tokens = settings.vendTokens
    vendsCredentials = settings.vendCredentials
    tokensPosition = section["vend_tokens"]?.position
    hosts = [("fips", settings.fips), ("dualstack", settings.dualstack)].compactMap { key, isOn in
      isOn ? (key, section.position(of: key)) : nil
    }
  }
}
