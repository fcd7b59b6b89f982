extension OIDCSettings: ConfiguredBackend {
  static let rows: [ConfigurationKey<OIDCSettings>] = [
    .init("issuer", \.issuer, .issuer, required: true),
    .init("client_id", \.clientID, .oidcClientID, required: true),
    .init("client_secret_file", \.clientSecretFile, .path),
    .init("client_authentication", \.clientAuthentication, .choice, standard: "none"),
    .init("client_assertion_key_file", \.clientAssertionKeyFile, .path),
    .init("client_assertion_key_id", \.clientAssertionKeyID, .shortName),
    .init("sign_in", \.signIn, .words(), standard: "browser paste"),
    .init("redirect_uri", \.browser.redirectURIs, .redirectURIs),
    .init("provider_name", \.providerName, .loginsKey),
    .init("scopes", \.browser.scopes, .scopes, standard: "openid offline_access"),
    .init("logout_redirect_uri", \.browser.logoutRedirectURI, .redirectURI),
    .parameters("authorize."),
    .parameters("logout."),
    .init("trusted_audiences", \.trustedAudiences, .audiences),
    .init(family: "require.", syntax: requiredValue.name) {
      value, name, settings throws(InvalidValue) in
      guard ValueSyntax<String>.isShortName(name) else { throw InvalidValue("not a claim's name") }
      guard settings.required.count < Limits.OIDC.values else {
        throw InvalidValue("more than \(Limits.OIDC.values) required claims")
      }
      settings.required.append(RequiredClaim(name: name, value: try requiredValue.read(value)))
      settings.required.sort { $0.name < $1.name }
    },
    .init("ca_file", \.caFile, .path),
    .init("authorization_endpoint", \.endpoints.authorization, .providerURL),
    .init("token_endpoint", \.endpoints.token, .providerURL),
    .init("device_authorization_endpoint", \.endpoints.deviceAuthorization, .providerURL),
    .init("revocation_endpoint", \.endpoints.revocation, .providerURL),
    .init("end_session_endpoint", \.endpoints.endSession, .providerURL),
  ]

  private static var requiredValue: ValueSyntax<Template> { .template(length: 1024) }

  func check(_ section: INISection, _ reader: inout ConfigurationReader) {
    let ways = signIn.map(\.rawValue)
    if ways.isEmpty {
      reader.diagnostics.error(
        at: section.position(of: "sign_in"), "sign_in: names no way in which users may sign in")
    }
    if ways != ["device"], !ways.isEmpty, section["redirect_uri"] == nil {
      reader.diagnostics.error(
        at: section.position(of: "sign_in"),
        "sign_in: browser and paste require 'redirect_uri', as it is registered with the provider")
    }
    reader.checkScopes(browser, section)
    checkRequiredEmail(section, &reader)
    checkAuthentication(section, &reader)
  }

  /// The scope `email` asks for both claims (OpenID Connect Core, 5.4). Some providers give the
  /// claims without that scope.
  private func checkRequiredEmail(_ section: INISection, _ reader: inout ConfigurationReader) {
    guard !browser.scopes.contains("email") else { return }
    for claim in required where ["email", "email_verified"].contains(claim.name) {
      reader.diagnostics.warning(
        at: section.position(of: "require.\(claim.name)"),
        "require.\(claim.name): most providers give this claim only with the scope email, and every "
          + "sign-in without it is refused: add email to 'scopes'")
    }
  }

  private func checkAuthentication(_ section: INISection, _ reader: inout ConfigurationReader) {
    let key = "client_authentication"
    let position = section.position(of: key)
    let method = clientAuthentication
    let needsSecret = method == .basic || method == .post
    if needsSecret, section["client_secret_file"] == nil {
      reader.diagnostics.error(
        at: position, "\(key): \(method.rawValue) requires 'client_secret_file'")
    }
    if method == .privateKeyJWT, section["client_assertion_key_file"] == nil {
      reader.diagnostics.error(
        at: position, "\(key): private-key-jwt requires 'client_assertion_key_file'")
    }
    // If the secret were not sent, the provider would refuse the client without a reason.
    if !needsSecret, let entry = section["client_secret_file"] {
      reader.diagnostics.error(
        at: entry.position,
        "client_secret_file: requires 'client_authentication = basic' or 'post'")
    }
    if method != .privateKeyJWT, let entry = section["client_assertion_key_file"] {
      reader.diagnostics.error(
        at: entry.position,
        "client_assertion_key_file: requires 'client_authentication = private-key-jwt'")
    }
    reader.require("client_assertion_key_file", with: "client_assertion_key_id", section)
  }
}

extension ValueSyntax<String> {
  static var issuer: ValueSyntax {
    ValueSyntax("the issuer's URL, https:// (http:// on loopback), without a query") {
      value throws(InvalidValue) in
      let text = try value.text()
      do throws(InvalidInput) {
        return try OIDCIssuer(text).description
      } catch {
        throw InvalidValue("\(text.singleQuoted) \(error.reason)")
      }
    }
  }

  static var oidcClientID: ValueSyntax {
    .text("1 to \(Limits.OIDC.clientIDBytes) printable characters without blanks") {
      (1...Limits.OIDC.clientIDBytes).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isVisible)
    }
  }
}

extension ValueSyntax<[String]> {
  /// Compared with claims as they are: a pattern would be taken for a name.
  static var audiences: ValueSyntax {
    .list(
      of: "an audience: 1 to \(Limits.OIDC.clientIDBytes) printable characters without '*'",
      most: Limits.OIDC.values
    ) {
      (1...Limits.OIDC.clientIDBytes).contains($0.utf8.count)
        && $0.utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "*") }
    }
  }
}

extension ValueSyntax<HTTPURL> {
  /// A URL of a provider, with or without a query.
  static var providerURL: ValueSyntax {
    ValueSyntax("a URL, https:// (http:// on loopback)") { value throws(InvalidValue) in
      let url = try HTTPURL(value.text())
      guard url.isEncrypted || url.isLoopback else {
        throw InvalidValue(
          "http:// to \(url.host.singleQuoted) would send secrets in clear; use https://")
      }
      guard url.text.utf8.count <= Limits.OIDC.urlBytes else {
        throw InvalidValue("is longer than \(Limits.OIDC.urlBytes) bytes")
      }
      if let name = url.reservedParameter {
        throw InvalidValue("credd sets the parameter '\(name)' itself")
      }
      return url
    }
  }
}
