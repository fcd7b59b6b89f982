import FoundationEssentials

/// AWS STS (2011-06-15), only AssumeRoleWithWebIdentity.
enum STSService {
  static let version = "2011-06-15"
  static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
  static let operation = "AssumeRoleWithWebIdentity"

  /// - Parameter fault: a kind of fault that the service itself makes.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    let requestID = state.random.uuid()
    do throws(ServiceError) {
      switch fault {
      case .expiredToken:
        throw SandboxState.expired(now: now.epochSeconds, expiry: now.epochSeconds - 60)
      case .wrongPool, .changedIdentity: throw SandboxState.denied
      default: break
      }
      let form = FormParameters(of: request)
      guard form["Action"] == operation, form["Version"] == version else {
        throw ServiceError(
          "InvalidAction",
          "Could not find operation \(form["Action"] ?? "") for version \(form["Version"] ?? "")")
      }
      let call = try RoleAssumption(form)
      let result = try state.assumeRole(call, at: now)
      let reply = XMLElement(
        "AssumeRoleWithWebIdentityResponse", namespace: namespace,
        [
          XMLElement("AssumeRoleWithWebIdentityResult", result),
          XMLElement("ResponseMetadata", [XMLElement("RequestId", requestID)]),
        ])
      return xml(reply, status: 200, requestID: requestID)
    } catch {
      return self.reply(with: error, requestID: requestID)
    }
  }

  static func reply(with error: ServiceError, requestID: String) -> HTTPReply {
    let reply = XMLElement(
      "ErrorResponse", namespace: namespace,
      [
        XMLElement(
          "Error",
          [
            XMLElement("Type", error.status < 500 ? "Sender" : "Receiver"),
            XMLElement("Code", error.code), XMLElement("Message", error.message),
          ]), XMLElement("RequestId", requestID),
      ])
    return xml(reply, status: error.status, requestID: requestID)
  }

  private static func xml(_ element: XMLElement, status: Int, requestID: String) -> HTTPReply {
    HTTPReply(
      status: status,
      headers: [
        HTTPField("Content-Type", "text/xml"), HTTPField("x-amzn-RequestId", requestID),
      ], body: Array(element.text().utf8))
  }
}

extension SandboxState {
  /// The members of AssumeRoleWithWebIdentityResult.
  mutating func assumeRole(
    _ call: RoleAssumption, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    let token = try webIdentity(call.token, at: now)
    guard call.providerID == nil else {
      throw ServiceError("ValidationError", "ProviderId is for OAuth 2.0 access tokens only")
    }
    // STS does not say why the role's trust policy refuses.
    guard let role = roles[call.roleARN], role.pool == token.pool,
      role.trustsAuthenticated == token.isAuthenticated,
      let identity = pools[token.pool]?.survivor(of: token.identity), !identity.isClosed
    else { throw SandboxState.denied }
    guard call.duration <= role.maximumSessionDuration else {
      throw ServiceError(
        "ValidationError",
        "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
    }
    let expiration = Date(timeIntervalSince1970: Double(now.epochSeconds + call.duration))
    let credentials = mint.credentials(
      for: CredentialMint.Grant(
        pool: token.pool, identity: token.identity, logins: identity.logins, role: role.arn,
        sessionName: call.sessionName, expiration: expiration), random: &random)
    let roleID = "AROASANDBOX" + role.name.uppercased().filter { $0.isASCII && $0.isLetter }
    let session = "arn:aws:sts::\(role.account):assumed-role/\(role.name)/\(call.sessionName)"
    return [
      XMLElement("Audience", token.pool),
      XMLElement(
        "AssumedRoleUser",
        [XMLElement("AssumedRoleId", "\(roleID):\(call.sessionName)"), XMLElement("Arn", session)]),
      XMLElement("Provider", LoginCheck.cognito),
      XMLElement(
        "Credentials",
        [
          XMLElement("AccessKeyId", credentials.accessKeyID),
          XMLElement("SecretAccessKey", credentials.secretAccessKey),
          XMLElement("SessionToken", credentials.sessionToken),
          XMLElement("Expiration", expiration.iso8601Text),
        ]), XMLElement("SubjectFromWebIdentityToken", token.identity),
    ]
  }

  /// Checks a developer token, with STS's error texts.
  private func webIdentity(
    _ text: String, at now: Date
  ) throws(ServiceError) -> DeveloperToken {
    do {
      return try verified(text, at: now)
    } catch {
      throw switch error {
      case .malformed:
        ServiceError("InvalidIdentityToken", "The ID Token provided is not a valid JWT.")
      case .wrongIssuer:
        ServiceError(
          "InvalidIdentityToken", "No OpenIDConnect provider found in your account for the issuer")
      case .unverified:
        ServiceError("InvalidIdentityToken", "Couldn't verify signed token.")
      case .expired(let now, let expiry): SandboxState.expired(now: now, expiry: expiry)
      }
    }
  }

  static let denied = ServiceError(
    status: 403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")

  static func expired(now: Int, expiry: Int) -> ServiceError {
    ServiceError(
      "ExpiredTokenException",
      "Token expired: current date/time \(now) must be before the expiration date/time \(expiry)")
  }
}

/// The parameters of AssumeRoleWithWebIdentity, with the checks of the STS API reference.
struct RoleAssumption {
  var roleARN: String
  var sessionName: String
  var token: String
  /// In seconds.
  var duration: Int
  var providerID: String?

  static let defaultDuration = 3600

  init(_ form: FormParameters) throws(ServiceError) {
    var violations: [String] = []
    func text(_ name: String, _ rule: InputRule) -> String {
      let member = name.prefix(1).lowercased() + name.dropFirst()
      guard let value = form[name] else {
        violations.append(
          "Value null at '\(member)' failed to satisfy constraint: Member must not be null")
        return ""
      }
      if let violation = rule.violation(of: value, at: member) { violations.append(violation) }
      return value
    }
    roleARN = text("RoleArn", .arn)
    sessionName = text("RoleSessionName", RoleAssumption.sessionNameRule)
    token = text("WebIdentityToken", RoleAssumption.tokenRule)
    providerID = form["ProviderId"]
    duration = RoleAssumption.defaultDuration
    if let text = form["DurationSeconds"] {
      guard let seconds = Int(text) else {
        throw ServiceError("ValidationError", "DurationSeconds is not a number: '\(text)'")
      }
      duration = seconds
      if !(900...43_200).contains(seconds) {
        violations.append(
          "Value '\(seconds)' at 'durationSeconds' failed to satisfy constraint: Member must have "
            + (seconds < 900
              ? "value greater than or equal to 900" : "value less than or equal to 43200"))
      }
    }
    if form["Policy"] != nil { _ = text("Policy", RoleAssumption.policyRule) }
    guard violations.isEmpty else {
      throw ServiceError("ValidationError", CognitoInput.summary(of: violations))
    }
    try RoleAssumption.checkPolicies(form)
  }

  private static let sessionNameRule = InputRule(2...64, pattern: #"[\w+=,.@-]*"#) {
    $0.utf8.allSatisfy { InputRule.isWord($0) || "+=,.@-".utf8.contains($0) }
  }
  private static let tokenRule = InputRule(4...20_000, isSensitive: true)
  private static let policyRule = InputRule(1...2048, isSensitive: true)
  private static let maximumPolicyARNs = 10

  private static func checkPolicies(_ form: FormParameters) throws(ServiceError) {
    if let policy = form["Policy"] {
      guard let document = JSON(parsing: Array(policy.utf8)), document["Statement"] != nil else {
        throw ServiceError("MalformedPolicyDocument", "Syntax errors in policy.")
      }
    }
    let arns = form.names.filter { $0.hasPrefix("PolicyArns.member.") && $0.hasSuffix(".arn") }
    guard arns.count <= maximumPolicyARNs else {
      throw ServiceError(
        "ValidationError", "Only \(maximumPolicyARNs) managed session policies may be passed.")
    }
    for name in arns where form[name]?.hasPrefix("arn:") != true {
      throw ServiceError("ValidationError", "\(form[name] ?? "") is invalid")
    }
  }
}

/// An element of an XML reply.
struct XMLElement {
  enum Content {
    case text(String)
    case elements([XMLElement])
  }

  let name: String
  let content: Content
  var namespace: String?

  init(_ name: String, _ text: String) {
    self.name = name
    self.content = .text(text)
  }

  init(_ name: String, namespace: String? = nil, _ elements: [XMLElement]) {
    self.name = name
    self.content = .elements(elements)
    self.namespace = namespace
  }

  /// The element as text, indented like AWS's replies.
  func text(indent: String = "") -> String {
    let opening = namespace.map { "<\(name) xmlns=\"\($0)\">" } ?? "<\(name)>"
    switch content {
    case .text(let text): return "\(indent)\(opening)\(XMLElement.escaped(text))</\(name)>\n"
    case .elements(let elements):
      let inner = elements.map { $0.text(indent: indent + "  ") }.joined()
      return "\(indent)\(opening)\n\(inner)\(indent)</\(name)>\n"
    }
  }

  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.append(character)
      }
    }
  }
}
