/// Cleans an upstream's text, so that it fits into one line of credd's messages.
enum RemoteText {
  /// The most characters of a cleaned text.
  static let maximumLength = 200
  /// The most characters of AWS's text: a refusal has three ARNs, a link, and an id of up to 256 characters
  /// twice.
  static let maximumLengthOfAWS = 1500

  /// A run of this many characters of tokens, keys and signatures counts as a secret. IdentityIds
  /// (36 after the colon) and role ARNs have separators that end a run.
  private static let secretRun = 24

  /// The text without control characters, line breaks, possible tokens, and users and passwords of URLs;
  /// nil if nothing is left.
  ///
  /// - Parameters:
  ///   - sent: secrets that are hidden too, even short parts.
  ///   - isFromAWS: whether AWS wrote it. Only then ARNs, ids of refusals and queries of URLs are shown whole.
  static func clean(
    _ bytes: some Collection<UInt8>, hiding sent: SentSecrets = SentSecrets(),
    isFromAWS: Bool = false
  ) -> String? {
    // The rest of a long message is not read.
    let read = Array(sent.hide(in: bytes.prefix(4096)))
    guard isFromAWS else {
      return line(of: URLLogins.removed(from: read), maximumLength) { _ in
        { withoutSecrets($0, sent.names) }
      }
    }
    return line(of: URLLogins.removedOfAWS(from: read), maximumLengthOfAWS) { words in
      let names = sent.names.union(PublicName.authorizations(in: words))
      return { PublicName.isARN($0) ? String($0) : withoutSecrets($0, names) }
    }
  }

  /// Cleans a text that is no message and contains no secret: a name or an address, which may have
  /// long runs of letters and digits.
  static func plain(_ bytes: some Collection<UInt8>) -> String? {
    line(of: bytes, maximumLength) { _ in { String($0) } }
  }

  /// - Parameter shown: what is shown of a word, where all words are these.
  private static func line(
    of bytes: some Collection<UInt8>, _ most: Int, _ shown: ([Substring]) -> (Substring) -> String
  ) -> String? {
    let text = String(decoding: bytes.prefix(most * 8), as: UTF8.self)
    let words = text.split(whereSeparator: isSeparator)
    let shown = shown(words)
    var cleaned = ""
    for word in words {
      if !cleaned.isEmpty { cleaned.append(" ") }
      cleaned.append(contentsOf: shown(word))
      if cleaned.count > most { break }
    }
    return cleaned.isEmpty ? nil : String(cleaned.prefix(most))
  }

  /// Whether the character is white space or invisible.
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

  /// Compares scalars: a letter with a combining mark is one character, but may still belong to a
  /// token.
  private static func withoutSecrets(_ word: Substring, _ names: Set<String>) -> String {
    func shown(_ run: String) -> String {
      names.contains(run) || !looksSecret(run) ? run : "…"
    }
    var output = ""
    var run = ""
    for scalar in word.unicodeScalars {
      if isOfToken(scalar) {
        run.unicodeScalars.append(scalar)
      } else {
        output.append(shown(run))
        output.unicodeScalars.append(scalar)
        run = ""
      }
    }
    return output + shown(run)
  }

  private static func isOfToken(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.isASCII else { return false }
    let byte = UInt8(truncatingIfNeeded: scalar.value)
    return byte.isLetterOrDigit || "-_.+/=~%".utf8.contains(byte)
  }

  /// Whether the run is long and has a digit. A long word without a digit, such as an error's name,
  /// is no secret. A ``PublicName`` is none either.
  private static func looksSecret(_ run: String) -> Bool {
    guard !run.contains(bytesOf: "eyJ") else { return true }  // a JWT's header, however short
    guard run.count >= secretRun else { return false }
    return run.contains(where: \.isNumber) && !PublicName.isOne(run, secretRun: secretRun)
  }
}
