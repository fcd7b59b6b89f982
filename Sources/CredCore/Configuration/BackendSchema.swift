extension ConfigurationSchema {
  static let backend: [ConfigurationKey<BackendDraft>] = common + http + exec + cognito + awsSample

  private static let common: [ConfigurationKey<BackendDraft>] = [
    .init("type", \.type, .choice, required: true, "the protocol of the token callback"),
    .init(
      "timeout", \.common.timeout, .duration(.milliseconds(100) ... .seconds(60)), standard: "5s",
      "how long one callback may take"),
    .init(
      "max_parallel", \.common.maxParallel, .integer(1...1024), standard: "16",
      "callbacks under way at once"),
    .init(
      "rate_limit", \.common.rateLimit, .rate, standard: "50/s",
      "calls at most; 50/s is Cognito's quota for type = cognito"),
  ]

  private static let http: [ConfigurationKey<BackendDraft>] = [
    .init("url", \.http.url, .url, required: true, of: [.http], "where tokens are asked for"),
    .init("method", \.http.method, .choice, standard: "POST", of: [.http], "the HTTP method"),
    .init(
      "bearer_token_file", \.http.bearerTokenFile, .path, of: [.http],
      "a file whose content authenticates this host to the backend"),
    .init(
      "ca_file", \.http.caFile, .path, of: [.http], "authorities trusted, not the system's"),
    .init(
      "client_certificate", \.http.clientCertificate, .path, of: [.http],
      "this host's certificate in PEM; the key may be in the same file"),
    .init("client_key", \.http.clientKey, .path, of: [.http], "the certificate's key in PEM"),
    .init(
      "unix_socket", \.http.unixSocket, .socketPath, of: [.http],
      "a socket to connect to, not the URL's host"),
    .init(
      "login_url", \.http.loginURL, .url, of: [.http], "where users sign in with a password"),
    .init("logout_url", \.http.logoutURL, .url, of: [.http], "what a global sign-out calls"),
    .init(
      "allow_plain_http", \.http.allowPlainHTTP, .yesNo, standard: "no", of: [.http],
      "whether http:// may lead to another host"),
    .init(
      family: "header.", syntax: "a text", of: [.http], "a header sent with every callback"
    ) { value, name, draft throws(InvalidValue) in
      guard name.isHeaderName else { throw InvalidValue("not a header's name") }
      let lowercased = name.lowercased()
      guard !["host", "content-length", "transfer-encoding", "connection"].contains(lowercased)
      else { throw InvalidValue("credd sets this header itself") }
      guard !draft.http.headers.contains(where: { $0.name.lowercased() == lowercased }) else {
        throw InvalidValue("duplicate header: case does not count in names of headers")
      }
      guard draft.http.headers.count < Limits.Configuration.headers else {
        throw InvalidValue("more than \(Limits.Configuration.headers) headers")
      }
      draft.http.headers.append(HTTPHeader(name, Secret(try value.text())))
    },
  ]

  private static let exec: [ConfigurationKey<BackendDraft>] = [
    .init(
      "command", \.exec.command, .command, required: true, of: [.exec],
      "the program, asked in JSON on its standard input; no shell"),
    .init(
      family: "environment.", syntax: "a text", of: [.exec], "a variable the program gets"
    ) { value, name, draft throws(InvalidValue) in
      guard name.isVariableName else { throw InvalidValue("not a variable's name") }
      guard draft.exec.environment.count < Limits.Configuration.environmentVariables else {
        throw InvalidValue("more than \(Limits.Configuration.environmentVariables) variables")
      }
      draft.exec.environment[name] = Secret(try value.text(mayBeEmpty: true))
    },
  ]

  private static let cognito: [ConfigurationKey<BackendDraft>] = [
    .init(
      "credentials_file", \.cognito.credentialsFile, .path, of: [.cognito],
      "developer AWS credentials in the manner of ~/.aws/credentials"),
    .init(
      "credentials_profile", \.cognito.credentialsProfile, .sectionName, standard: "default",
      of: [.cognito], "the section of that file"),
    .init(
      "credential_process", \.cognito.credentialProcess, .command, of: [.cognito],
      "a program that prints developer AWS credentials"),
    .init(
      "token_duration", \.cognito.tokenDuration,
      .duration(.seconds(1) ... .seconds(86_400), isWhole: true), standard: "15m", of: [.cognito],
      "lifetime of the developer token"),
    .init(
      "cognito_endpoint", \.cognito.cognitoEndpoint, .endpoint, of: [.cognito],
      "Cognito Identity's URL, not AWS's own"),
    .init(
      "allow_plain_http", \.cognito.allowPlainHTTP, .yesNo, standard: "no", of: [.cognito],
      "whether an http:// endpoint may be on another host"),
    .init(
      family: "principal_tags.", syntax: tagValue.name, of: [.cognito],
      "a tag of the session, for access control by attributes"
    ) { value, name, draft throws(InvalidValue) in
      guard Limits.Upstream.tagNameLength.contains(name.utf8.count),
        name.containsOnlyLettersDigits(or: "_.:/+@-")
      else {
        throw InvalidValue("not a tag's name")
      }
      guard draft.cognito.principalTags.count < Limits.Upstream.principalTags else {
        throw InvalidValue("more than \(Limits.Upstream.principalTags) principal tags")
      }
      draft.cognito.principalTags[name] = try tagValue.read(value)
    },
  ]

  private static let awsSample: [ConfigurationKey<BackendDraft>] = [
    .init(
      "url", \.awsSample.url, .endpoint, required: true, of: [.awsSample],
      "what /login and /gettoken are appended to"),
    .init(
      "app_name", \.awsSample.appName, .appName,
      standard: AWSSampleBackendSettings.standardAppName, of: [.awsSample],
      "the app's name, from which the server derives keys"),
    .init(
      "ca_file", \.awsSample.caFile, .path, of: [.awsSample],
      "authorities trusted, not the system's"),
    .init(
      "allow_plain_http", \.awsSample.allowPlainHTTP, .yesNo, standard: "no", of: [.awsSample],
      "whether http:// may lead to another host"),
  ]

  private static var tagValue: ValueSyntax<Template> {
    .template(length: Limits.Upstream.tagValueLength.upperBound)
  }

  /// The keys of a section, whatever their types.
  static func references(of kind: SectionKind) -> [ConfigurationKeyReference] {
    switch kind {
    case .daemon: daemon.map(\.reference)
    case .backend: backend.map(\.reference)
    case .profile: profile.map(\.reference)
    }
  }
}
