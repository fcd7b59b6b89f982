extension UserPoolSettings: ConfiguredBackend {
  static let rows: [ConfigurationKey<UserPoolSettings>] = [
    .init("user_pool_id", \.userPoolID, .userPoolID, required: true),
    .init("client_id", \.clientID, .clientID, required: true),
    .init("client_secret_file", \.clientSecretFile, .path),
    .init("auth_flow", \.authFlow, .choice, standard: "srp"),
    .init("remember_device", \.rememberDevice, .choice, standard: "no"),
    .init(
      "account_actions", \.accountActions, .words(),
      standard: standardAccountActions.map(\.rawValue).joined(separator: " ")),
    .init("client_metadata", \.takesClientMetadata, .yesNo, standard: "no"),
    .init("provider_name", \.providerName, .loginsKey),
    .init("user_pool_endpoint", \.endpoint, .endpoint),
    .init("replica_region", \.replicaRegion, .region),
    .init("replica_endpoint", \.replicaEndpoint, .endpoint),
    .init("ca_file", \.caFile, .path),
    .init("allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no"),
    // The Hosted UI.
    .init("domain", \.domain, .poolDomain),
    .init("redirect_uri", \.browser.redirectURIs, .redirectURIs),
    .init("identity_provider", \.browser.identityProviders, .identityProviders),
    .init("idp_identifier", \.browser.idpIdentifier, .shortName),
    .init("scopes", \.browser.scopes, .scopes, standard: "openid"),
    .init("logout_redirect_uri", \.browser.logoutRedirectURI, .redirectURI),
    .parameters("authorize."),
    .parameters("logout."),
  ]

  func check(_ section: INISection, _ reader: inout ConfigurationReader) {
    reader.refusePlainHTTP("user_pool_endpoint", endpoint, section, isAllowed: allowPlainHTTP)
    if let region = try? UserPoolID(userPoolID).region {
      reader.checkRegion(region, at: "user_pool_id", unless: "user_pool_endpoint", section)
    }
    checkReplica(section, &reader)
    checkHostedUI(section, &reader)
  }

  private func checkHostedUI(_ section: INISection, _ reader: inout ConfigurationReader) {
    reader.require("redirect_uri", with: "domain", section)
    let keys = [
      "redirect_uri", "identity_provider", "idp_identifier", "scopes", "logout_redirect_uri",
    ]
    for key in keys { reader.require("domain", with: key, section) }
    for entry in section.entries
    where entry.key.hasPrefix("authorize.") || entry.key.hasPrefix("logout.") {
      reader.require("domain", with: entry.key, section)
    }
    reader.checkScopes(browser, section)
  }
}

extension ValueSyntax<String> {
  static var userPoolID: ValueSyntax {
    let name = "a user pool's id, such as eu-west-1_AbCdEf123"
    return .text(name, where: { (try? UserPoolID($0)) != nil }) {
      guard (try? IdentityPoolID($0)) != nil else { return nil }
      return ", but an identity pool's: that is 'identity_pool_id' of a [profile NAME]"
    }
  }

  static var clientID: ValueSyntax {
    .text(UserPoolInput.clientIDForm, where: UserPoolInput.isClientID)
  }
}

extension ValueSyntax<HTTPURL> {
  /// The domain of a user pool's Hosted UI: a host's name, or a URL without a path.
  static var poolDomain: ValueSyntax {
    ValueSyntax("a host's name, or a URL without a path, https:// (http:// on loopback)") {
      value throws(InvalidValue) in
      let text = try value.text()
      let isURL = text.hasPrefix("https://") || text.hasPrefix("http://")
      let url = try HTTPURL(isURL ? text : "https://\(text)")
      guard url.isEncrypted || url.isLoopback else {
        throw InvalidValue(
          "http:// to \(url.host.singleQuoted) would send secrets in clear; use https://")
      }
      guard url.path == "/", url.query == nil else {
        throw InvalidValue("the domain of a user pool has no path and no query")
      }
      return url
    }
  }
}
