/// The settings of a user pool. If CreateUserPool has a setting, its name in JSON is the same.
struct PoolSettings: Sendable {
  enum Requirement: String, Sendable, CaseIterable {
    case off = "OFF", optional = "OPTIONAL", on = "ON"
  }

  /// Whether the pool tracks users' sessions.
  enum SessionTracking: String, Sendable, CaseIterable {
    case off = "DISABLED", on = "ENABLED"
  }

  /// Whether the pool tracks users' devices.
  enum DeviceTracking: String, Sendable, CaseIterable {
    case off = "OFF"
    /// A device is remembered when the user says so.
    case optIn = "OPT_IN"
    case always = "ALWAYS"
  }

  enum SaltShape: String, Sendable, CaseIterable { case any, odd, short, topBit }

  /// How an error is written; Cognito has used each form.
  enum ErrorSpelling: String, Sendable, CaseIterable {
    case plain
    /// `__type` with a namespace and `#`.
    case prefixed
    /// Only in the header, with a URL after the colon.
    case header
    /// `Message` for `message`.
    case capital
  }

  /// One round of the custom challenge.
  struct CustomRound: Sendable, Equatable {
    var parameters: [String: String]
    var answer: String
  }

  var isCaseSensitive = false
  /// The attributes that sign-up takes instead of a user name; then the user name is a UUID.
  var usernameAttributes: [String] = []
  var aliasAttributes: [String] = []
  var autoVerifiedAttributes: [String] = ["email"]
  var requiredAttributes: [String] = ["email"]
  /// Names without `custom:`.
  var customAttributes: [String] = []
  var mfa = Requirement.off
  var factors: [Factor] = Factor.allCases
  /// One-time codes as the only factor, in USER_AUTH.
  var firstFactors: [String] = []
  var devices = DeviceTracking.off
  /// A remembered device replaces the second factor.
  var deviceReplacesFactor = true
  var passwordPolicy = PasswordPolicy()
  var passwordHistory = 0
  var temporaryPasswordDays = 7
  var allowsSignUp = true
  /// Whether users are confirmed at once, as by a pre-sign-up trigger.
  var confirmsSignUp = false
  /// Whether a changed address counts only after its verification.
  var verifiesBeforeUpdate = false
  var customRounds: [CustomRound] = []
  /// Wrong answers after which a custom challenge ends.
  var customAttempts = 3
  /// Wrong codes after which a sign-in ends; 0: never.
  var codeMisses = 0
  /// The most codes, password changes and similar actions in an hour, for each user and purpose.
  var attemptsPerHour = 5
  var saltShape = SaltShape.any
  /// The shape of each proof's numbers; if nil, the cheap shapes take turns, one for each proof.
  var proofShape: SRPExchange.Shape?
  var errorSpelling = ErrorSpelling.plain
  var issuerType = UserPoolName.IssuerType.original
  var sessionTracking = SessionTracking.off
  /// Token sessions of a user, at all clients.
  var maximumSessionsPerUser = 20
  var sessionsPerPage = Self.mostSessionsPerPage
  /// The operations that answer OperationNotEnabledException.
  var disabledOperations: Set<String> = []

  static let mostSessionsPerPage = 125

  var tracksSessions: Bool { sessionTracking == .on }

  /// The attributes that a person may type as the user name.
  var signInAttributes: [String] { usernameAttributes + aliasAttributes }
}

extension PoolSettings {
  /// Reads the settings of a pool from a seed or the control path.
  mutating func apply(_ fields: inout FieldReader) throws(ServiceError) {
    isCaseSensitive = try fields.bool("CaseSensitive") ?? isCaseSensitive
    let addresses = ["email", "phone_number"]
    usernameAttributes = try fields.names("UsernameAttributes", addresses) ?? usernameAttributes
    aliasAttributes =
      try fields.names("AliasAttributes", addresses + ["preferred_username"]) ?? aliasAttributes
    autoVerifiedAttributes =
      try fields.names("AutoVerifiedAttributes", addresses) ?? autoVerifiedAttributes
    customAttributes = try fields.texts("CustomAttributes") ?? customAttributes
    requiredAttributes =
      try fields.names("RequiredAttributes", PoolAttributes.standard) ?? requiredAttributes
    mfa = try fields.choice("MfaConfiguration") ?? mfa
    factors = try fields.choices("EnabledMfas") ?? factors
    firstFactors =
      try fields.names("AllowedFirstAuthFactors", ["EMAIL_OTP", "SMS_OTP"]) ?? firstFactors
    devices = try fields.choice("DeviceTracking") ?? devices
    deviceReplacesFactor =
      try fields.bool("ChallengeRequiredOnNewDevice") ?? deviceReplacesFactor
    if var policy = try fields.object("PasswordPolicy") {
      try passwordPolicy.apply(&policy)
      try policy.finish()
    }
    if var issuer = try fields.object("IssuerConfiguration") {
      issuerType = try issuer.choice("Type") ?? issuerType
      try issuer.finish()
    }
    sessionTracking = try fields.choice("UserSessionTracking") ?? sessionTracking
    if var session = try fields.object("TokenSession") {
      maximumSessionsPerUser =
        try session.integer("MaxPerUser", in: 1...100) ?? maximumSessionsPerUser
      try session.finish()
    }
    passwordHistory = try fields.integer("PasswordHistorySize", in: 0...24) ?? passwordHistory
    temporaryPasswordDays =
      try fields.integer("TemporaryPasswordValidityDays", in: 0...365) ?? temporaryPasswordDays
    allowsSignUp = try fields.bool("SignUp") ?? allowsSignUp
    confirmsSignUp = try fields.bool("ConfirmSignUp") ?? confirmsSignUp
    verifiesBeforeUpdate = try fields.bool("VerifyBeforeUpdate") ?? verifiesBeforeUpdate
    try applyScripts(&fields)
  }

  /// Reads settings that only the sandbox has, not Cognito.
  private mutating func applyScripts(_ fields: inout FieldReader) throws(ServiceError) {
    if let rounds = try fields.objects("CustomChallenges") {
      customRounds = []
      for round in rounds {
        var round = round
        customRounds.append(
          CustomRound(
            parameters: try round.map("Parameters") ?? [:], answer: try round.text("Answer")))
        try round.finish()
      }
    }
    customAttempts = try fields.integer("CustomAttempts", in: 1...100) ?? customAttempts
    codeMisses = try fields.integer("CodeMisses", in: 0...100) ?? codeMisses
    attemptsPerHour = try fields.integer("AttemptsPerHour", in: 1...1000) ?? attemptsPerHour
    saltShape = try fields.choice("SaltShape") ?? saltShape
    proofShape = try fields.choice("ProofShape") ?? proofShape
    errorSpelling = try fields.choice("ErrorSpelling") ?? errorSpelling
    sessionsPerPage =
      try fields.integer("SessionsPerPage", in: 1...Self.mostSessionsPerPage) ?? sessionsPerPage
    disabledOperations =
      try fields.names("DisabledOperations", UserPoolService.operations.sorted()).map { Set($0) }
      ?? disabledOperations
  }
}

/// The rules for passwords.
struct PasswordPolicy: Sendable {
  var minimumLength = 8
  var requiresUppercase = true
  var requiresLowercase = true
  var requiresNumbers = true
  var requiresSymbols = false

  func check(_ password: String) throws(ServiceError) {
    let scalars = password.unicodeScalars
    let checks: [(Bool, String)] = [
      (scalars.count >= minimumLength, "Password not long enough"),
      (
        !requiresUppercase || scalars.contains { ("A"..."Z").contains($0) },
        "Password must have uppercase characters"
      ),
      (
        !requiresLowercase || scalars.contains { ("a"..."z").contains($0) },
        "Password must have lowercase characters"
      ),
      (
        !requiresNumbers || scalars.contains { ("0"..."9").contains($0) },
        "Password must have numeric characters"
      ),
      (
        !requiresSymbols
          || scalars.contains { #"^$*.[]{}()?"!@#%&/\,><':;|_~`=+-"#.unicodeScalars.contains($0) },
        "Password must have symbol characters"
      ),
    ]
    for (isMet, text) in checks where !isMet {
      throw ServiceError(
        "InvalidPasswordException", "Password did not conform with policy: \(text)")
    }
  }

  mutating func apply(_ fields: inout FieldReader) throws(ServiceError) {
    minimumLength = try fields.integer("MinimumLength", in: 1...99) ?? minimumLength
    requiresUppercase = try fields.bool("RequireUppercase") ?? requiresUppercase
    requiresLowercase = try fields.bool("RequireLowercase") ?? requiresLowercase
    requiresNumbers = try fields.bool("RequireNumbers") ?? requiresNumbers
    requiresSymbols = try fields.bool("RequireSymbols") ?? requiresSymbols
  }
}

extension FieldReader {
  /// A list of texts, of which each must be one of the allowed ones.
  mutating func names(_ name: String, _ allowed: [String]) throws(ServiceError) -> [String]? {
    guard let texts = try texts(name) else { return nil }
    guard texts.allSatisfy(allowed.contains) else {
      throw fault(name, "must be of " + allowed.joined(separator: ", "))
    }
    return texts
  }

  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String
  ) throws(ServiceError) -> Choice? where Choice.RawValue == String {
    guard let text = try optionalText(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw fault(
        name, "must be one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return choice
  }

  mutating func choices<Choice: RawRepresentable & CaseIterable>(
    _ name: String
  ) throws(ServiceError) -> [Choice]? where Choice.RawValue == String {
    try names(name, Choice.allCases.map(\.rawValue))?.compactMap(Choice.init)
  }
}
