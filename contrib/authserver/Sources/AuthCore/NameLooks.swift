import CUnistring

extension Identifier {
  /// Why people may take this name for another name; nil if nothing was found. The name is still
  /// allowed: an administrator decides.
  ///
  /// A name of one script passes, unless each of its letters looks like a letter of ASCII. Letters
  /// that look alike within a script, as `l` and `I`, are not looked at.
  public var lookalike: String? {
    let others = name.unicodeScalars.filter { !$0.isASCII }
    guard !others.isEmpty else { return nil }
    if let odd = others.first(where: { !$0.isOfAWord }) {
      return
        "holds \(odd.code), which is no letter or digit, and may look like a blank or another sign"
    }
    if let odd = others.first(where: { String($0).compatible != String($0).composed }) {
      return "holds \(odd.code), a form of '\(String(odd).compatible)'"
    }
    let ascii = String(
      String.UnicodeScalarView(name.unicodeScalars.map { Self.lookalikes[$0] ?? $0 }))
    if ascii.utf8.allSatisfy({ $0 < 0x80 }) { return "looks like '\(ascii)'" }
    let scripts = Set(name.unicodeScalars.compactMap(\.script))
    guard scripts.count <= 1 || Self.together.contains(where: { scripts.isSubset(of: $0) }) else {
      return "mixes letters of \(scripts.sorted().joined(separator: " and "))"
    }
    return nil
  }

  /// Scripts that one language writes together (UTS 39, 5.2).
  private static let together: [Set<String>] = [
    ["Han", "Hiragana", "Katakana"], ["Han", "Bopomofo"], ["Han", "Hangul"],
  ]

  /// Letters that look like a letter of ASCII, in the scripts that have many (Unicode's
  /// confusables.txt).
  private static let lookalikes: [Unicode.Scalar: Unicode.Scalar] = {
    let rows: [(String, String)] = [
      ("аАΑ", "aAA"), ("ɑα", "aa"), ("ВΒ", "BB"), ("ЬƄ", "bb"), ("сСϲϹ", "cCcC"), ("ԁ", "d"),
      ("еЕΕ", "eEE"),
      ("ɡ", "g"), ("һНΗ", "hHH"), ("іІΙιı", "iIIii"), ("јЈϳͿ", "jJjJ"), ("КΚκк", "KKkk"),
      ("ӏӀ", "lI"),
      ("МΜ", "MM"), ("Νո", "Nn"), ("оОΟοօσ", "oOOooo"), ("рРΡρ", "pPPp"), ("ԛԚ", "qQ"),
      ("ѕЅ", "sS"), ("ТΤ", "TT"), ("υս", "uu"), ("νѵ", "vv"), ("ԝԜ", "wW"), ("хХΧ", "xXX"),
      ("уУΥγ", "yYYy"),
      ("ΖЗ", "Z3"),
    ]
    var table: [Unicode.Scalar: Unicode.Scalar] = [:]
    for (letters, ascii) in rows {
      for (letter, look) in zip(letters.unicodeScalars, ascii.unicodeScalars) {
        table[letter] = look
      }
    }
    return table
  }()
}

extension Unicode.Scalar {
  fileprivate var code: String {
    let digits = String(value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// A letter, a mark on one, or a digit.
  fileprivate var isOfAWord: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
      true
    default: false
    }
  }

  /// The name of the character's script. Nil for a character of several scripts, such as a digit or
  /// a mark.
  fileprivate var script: String? {
    guard let name = unsafe auth_script(value) else { return nil }
    let script = unsafe String(cString: name)
    return ["Common", "Inherited"].contains(script) ? nil : script
  }
}
