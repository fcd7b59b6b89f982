extension Dice {
  private static let challenges = [
    "PASSWORD_VERIFIER", "SMS_MFA", "EMAIL_OTP", "SMS_OTP", "SOFTWARE_TOKEN_MFA",
    "SELECT_MFA_TYPE", "MFA_SETUP", "NEW_PASSWORD_REQUIRED", "SELECT_CHALLENGE", "PASSWORD",
    "PASSWORD_SRP", "CUSTOM_CHALLENGE", "DEVICE_SRP_AUTH", "DEVICE_PASSWORD_VERIFIER",
    "WEB_AUTHN", "RETINA_SCAN", "",
  ]

  /// A reply of a user pool.
  mutating func poolReply() -> String {
    if once(in: 5) { return once(in: 4) ? page() : refusal() }
    let members: [(name: String, value: JSONText)] =
      switch number(6) {
      case 0, 1: [("AuthenticationResult", providerTokens())]
      case 2:
        [
          ("Username", .string(accountName())),
          (
            "UserAttributes",
            .raw(
              pick([
                "[]", #"[{"Name":"email","Value":"a@b"}]"#, #"[{"Name":"x"}]"#, "null", "7",
                #"[{"Value":"v"}]"#,
              ]))
          ), ("UserMFASettingList", .raw(pick([#"["SMS_MFA"]"#, "[1]", "{}"]))),
        ]
      case 3:
        [
          (
            "Devices",
            .raw(
              pick([
                "[]", #"[{"DeviceKey":"us-east-1_0a-1"}]"#, #"[{"DeviceKey":"x"}]"#, "[{}]",
                #"[{"DeviceKey":"us-east-1_0a","DeviceCreateDate":1.7e9,"DeviceAttributes":[]}]"#,
              ]))
          ),
          (
            "Sessions",
            .raw(
              pick([
                "[]", "[{}]", #"[{"SessionId":"sso0"}]"#,
                #"[{"SessionId":"tkn0123456789abcdefghijklmno","LastLocation":{"City":7}}]"#,
              ]))
          ),
        ]
      case 4:
        [
          (
            "SecretCode",
            .string(once(in: 4) ? text("ABC=+", 1...20) : text("ABCDEFGH2345", 16...32))
          ),
          ("Session", .string(text("abc-_", 20...40))),
        ]
      default: poolChallenge()
      }
    return answer(written(disturbed(members, once: 8)))
  }

  private mutating func providerTokens() -> JSONText {
    var members: [(name: String, value: JSONText)] = [
      ("IdToken", .string(once(in: 6) ? token() : text("abcXYZ019-_", 1...60))),
      ("AccessToken", .string(once(in: 6) ? token() : text("abcXYZ019-_", 1...60))),
    ]
    if once(in: 2) { members.append(("RefreshToken", .string(text("abc019-_=", 1...80)))) }
    if once(in: 3) { members.append(("ExpiresIn", .raw(pick(["3600", "-1", "1e9", "\"x\""])))) }
    if once(in: 4) {
      members.append(
        (
          "NewDeviceMetadata",
          .raw(
            pick([
              "null", "{}", #"{"DeviceKey":"us-east-1_0a-1","DeviceGroupKey":"-g"}"#,
              #"{"DeviceKey":"?","DeviceGroupKey":""}"#,
            ]))
        ))
    }
    return disturbed(members, once: 8)
  }

  private mutating func poolChallenge() -> [(name: String, value: JSONText)] {
    let parameters: [(name: String, value: JSONText)] = [
      ("SALT", .string(pick(["7d", "0", "zz", "", "00ff"]))),
      ("SRP_B", .string(pick(["5", "0", "ff00", "-1", String(repeating: "f", count: 768)]))),
      ("SECRET_BLOCK", .string(pick(["AAAA", "", "?", "QUJD"]))),
      ("USER_ID_FOR_SRP", .string(accountName())), ("USERNAME", .string(accountName())),
      ("MFAS_CAN_CHOOSE", .string(pick([#"["SMS_MFA"]"#, "[]", "x", #"["SOFTWARE_TOKEN_MFA"]"#]))),
      ("MFAS_CAN_SETUP", .string(pick([#"["SOFTWARE_TOKEN_MFA"]"#, #"["SMS_MFA"]"#, "{}"]))),
      ("requiredAttributes", .string(pick([#"["userAttributes.email"]"#, "[]", "nil"]))),
      ("userAttributes", .string(pick([#"{"email":"a@b"}"#, "{}", "["]))),
      ("CODE_DELIVERY_DESTINATION", .string(pick(["+***9", "a\nb", ""]))),
    ]
    return [
      ("ChallengeName", .string(pick(Self.challenges))),
      ("Session", .string(once(in: 8) ? "" : text("abc019-_", 20...60))),
      ("ChallengeParameters", disturbed(parameters, once: 3)),
      ("AvailableChallenges", .raw(pick([#"["PASSWORD_SRP","EMAIL_OTP"]"#, "[]", "null", "7"]))),
    ]
  }
}
