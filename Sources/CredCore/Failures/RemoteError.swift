/// An error as an AWS service names it.
struct RemoteError: Equatable {
  /// Without `namespace#` and `:url`.
  let name: String
  /// Fit to be shown.
  let message: String?

  /// Nil where the name is none: then it came from something else than the service.
  init?(name: some StringProtocol, message: Secret?) {
    let local = name.split(separator: "#").last?.split(separator: ":").first ?? ""
    guard (1...128).contains(local.utf8.count), local.containsOnlyLettersDigits(or: "._") else {
      return nil
    }
    self.name = String(local)
    self.message = message.flatMap { RemoteText.clean($0.bytes) }
  }

  func fits(_ row: FailureTable.Row) -> Bool {
    row.name == name && (row.saying.isEmpty || message?.contains(bytesOf: row.saying) == true)
  }

  var description: String { message.map { "\(name): \($0)" } ?? name }
}

/// Text that somebody else wrote, made fit for one line of credd's own.
enum RemoteText {
  /// In characters.
  static let maximumLength = 200

  /// A run of characters as they occur in tokens, keys and signatures is taken for one from here
  /// on. IdentityIds (36 after the colon) and role ARNs have separators that end a run.
  private static let secretRun = 24

  /// The text without control characters and line breaks, without what may be a token, cut to 200
  /// characters; nil where nothing is left.
  static func clean(_ bytes: some Collection<UInt8>) -> String? {
    // Read no more than can matter: an answer may be all message.
    let text = String(decoding: bytes.prefix(maximumLength * 8), as: UTF8.self)
    var cleaned = ""
    for word in text.split(whereSeparator: isSeparator) {
      if !cleaned.isEmpty { cleaned.append(" ") }
      cleaned.append(contentsOf: withoutSecrets(word))
      if cleaned.count > maximumLength { break }
    }
    return cleaned.isEmpty ? nil : String(cleaned.prefix(maximumLength))
  }

  /// Spaces, line breaks and whatever else does not show.
  private static func isSeparator(_ character: Character) -> Bool {
    character.unicodeScalars.contains {
      switch $0.properties.generalCategory {
      case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
        .paragraphSeparator, .spaceSeparator:
        true
      default: false
      }
    }
  }

  private static func withoutSecrets(_ word: Substring) -> String {
    var output = ""
    var run = ""
    for character in word {
      if isTokenCharacter(character) {
        run.append(character)
      } else {
        output.append(looksSecret(run) ? "…" : run)
        output.append(character)
        run = ""
      }
    }
    return output + (looksSecret(run) ? "…" : run)
  }

  private static func isTokenCharacter(_ character: Character) -> Bool {
    guard let byte = character.asciiValue else { return false }
    return byte.isLetterOrDigit || "-_.+/=~%".utf8.contains(byte)
  }

  /// Long, and with a digit: no word of a language. A long word without one, such as an error's
  /// name, stays; so does a UUID, which is in every IdentityId.
  private static func looksSecret(_ run: String) -> Bool {
    guard !run.contains(bytesOf: "eyJ") else { return true }  // a JWT's header, however short
    guard run.count >= secretRun else { return false }
    return run.contains(where: \.isNumber) && !isUUID(run)
  }

  private static func isUUID(_ run: String) -> Bool {
    let groups = run.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy(\.isHexDigit)
  }
}
