/// The attributes of users: their names, who may write them, and their forms.
enum PoolAttributes {
  static let standard = [
    "address", "birthdate", "email", "family_name", "gender", "given_name", "locale",
    "middle_name", "name", "nickname", "phone_number", "picture", "preferred_username", "profile",
    "updated_at", "website", "zoneinfo",
  ]

  /// The attributes that a user may not write.
  static let readOnly: Set = ["sub", "email_verified", "phone_number_verified", "identities"]

  /// Checks attributes that a user writes.
  static func check(
    _ attributes: [(name: String, value: String)], in settings: PoolSettings
  ) throws(ServiceError) {
    var seen: Set<String> = []
    for (name, value) in attributes {
      guard seen.insert(name).inserted else {
        throw .poolInvalid("The attribute \(name) is given twice.")
      }
      guard !readOnly.contains(name) else {
        throw .poolRefused("A client attempted to write unauthorized attribute")
      }
      guard standard.contains(name) || isCustom(name, in: settings) else {
        throw .poolInvalid(
          "Attributes did not conform to the schema: \(name): Attribute does not exist in the schema.\n"
        )
      }
      if !value.isEmpty { try checkForm(name, value) }
    }
  }

  private static func isCustom(_ name: String, in settings: PoolSettings) -> Bool {
    name.hasPrefix("custom:") && settings.customAttributes.contains(String(name.dropFirst(7)))
  }

  static func checkForm(_ name: String, _ value: String) throws(ServiceError) {
    switch name {
    case "email":
      let parts = value.split(separator: "@", omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, parts[1].contains("."),
        !value.contains(where: \.isWhitespace)
      else { throw .poolInvalid("Invalid email address format.") }
    case "phone_number":
      let digits = value.utf8.dropFirst()
      guard value.hasPrefix("+"), (7...15).contains(digits.count),
        digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { throw .poolInvalid("Invalid phone number format.") }
    default: break
    }
  }

  /// The required attributes that are missing.
  static func missing(_ attributes: [String: String], in settings: PoolSettings) -> [String] {
    settings.requiredAttributes.filter { (attributes[$0] ?? "").isEmpty }
  }

  /// `a***@e***` and `+********55`: a destination in the form that Cognito shows.
  static func masked(_ address: String) -> String {
    let parts = address.split(separator: "@", omittingEmptySubsequences: false)
    if parts.count == 2 { return "\(parts[0].prefix(1))***@\(parts[1].prefix(1))***" }
    return "+" + String(repeating: "*", count: max(0, address.count - 5)) + address.suffix(4)
  }
}

extension UserPool {
  /// The destination of codes for this attribute, in the form of replies.
  static func delivery(_ attribute: String, _ address: String) -> JSON {
    [
      "Destination": .string(PoolAttributes.masked(address)),
      "DeliveryMedium": attribute == "email" ? "EMAIL" : "SMS",
      "AttributeName": .string(attribute),
    ]
  }

  /// An invented address for a user who does not exist, the same each time.
  func inventedDelivery(for name: String) -> JSON {
    let letters = invented("delivery", name).prefix(2).map {
      String(Unicode.Scalar(UInt8(ascii: "a") + $0 % 26))
    }
    return UserPool.delivery("email", "\(letters[0])@\(letters[1]).example")
  }

  /// Invented bytes for a user who does not exist.
  func invented(_ purpose: String, _ name: String) -> [UInt8] {
    Cryptography.hmacSHA256(key: pepper, message: Array("\(purpose):\(folded(name))".utf8))
  }
}
