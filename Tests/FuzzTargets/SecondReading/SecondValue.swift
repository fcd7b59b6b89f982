import CredCore

/// The second reading of a value: as the settings show it; nil if it must be refused.
struct SecondValue {
  let written: String
  let environment: (String) -> String?

  /// The value without its quotes.
  func text(mayBeEmpty: Bool = false) -> String? {
    guard written.hasPrefix("\"") else { return written.contains("\"") ? nil : written }
    guard let (text, rest) = Self.unquoted(Array(written.unicodeScalars)[...]), rest.isEmpty,
      mayBeEmpty || !text.isEmpty
    else { return nil }
    return text
  }

  /// The text after an opening quote, and what follows the closing one.
  private static func unquoted(
    _ scalars: ArraySlice<Unicode.Scalar>
  ) -> (String, ArraySlice<Unicode.Scalar>)? {
    var rest = scalars.dropFirst()
    var text = ""
    while let scalar = rest.popFirst() {
      if scalar == "\"" { return (text, rest) }
      if scalar == "\\" {
        guard let escaped = rest.popFirst(), escaped == "\"" || escaped == "\\" else { return nil }
        text.unicodeScalars.append(escaped)
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return nil
  }

  func words(commas: Bool) -> [String]? {
    let separates = { (scalar: Unicode.Scalar) in
      scalar == " " || scalar == "\t" || commas && scalar == ","
    }
    var rest = Array(written.unicodeScalars)[...]
    var words: [String] = []
    while true {
      rest = rest.drop(while: separates)
      guard let first = rest.first else { return words.isEmpty ? nil : words }
      if first == "\"" {
        guard let (word, after) = Self.unquoted(rest), after.first.map(separates) ?? true else {
          return nil
        }
        words.append(word)
        rest = after
      } else {
        let word = rest.prefix { !separates($0) }
        guard !word.contains("\"") else { return nil }
        words.append(String(String.UnicodeScalarView(word)))
        rest = rest.dropFirst(word.count)
      }
    }
  }

  /// - Parameter member: the part of the key after the dot of a family.
  func shown(_ kind: ValueKind, member: String = "") -> String? {
    switch kind {
    case .number(let range):
      return text().flatMap { text in
        SecondRules.isMade(text, of: SecondRules.digits, 1...Int.max)
          ? Int(text).flatMap { range.contains($0) ? "\($0)" : nil } : nil
      }
    case .duration(let range, let isWhole):
      guard let milliseconds = text().flatMap(Self.milliseconds), range.contains(milliseconds),
        !isWhole || milliseconds % 1000 == 0
      else { return nil }
      return "\(milliseconds)"
    case .rate: return text().flatMap(Self.rate)
    case .yesNo:
      guard let text = text() else { return nil }
      if ["yes", "true", "on"].contains(text) { return "true" }
      return ["no", "false", "off"].contains(text) ? "false" : nil
    case .choice(let known): return text().flatMap { known.contains($0) ? $0 : nil }
    case .text(_, let isValid): return text().flatMap { isValid($0) ? $0 : nil }
    case .path(let limit): return path(limit)
    case .url: return text().flatMap(SecondRules.urlTemplate)
    case .endpoint: return endpoint
    case .template(let limit, let isValid):
      guard let template = text().flatMap(SecondRules.template),
        template.literals.reduce(0, { $0 + $1.count }) <= limit,
        template.literals.allSatisfy(isValid)
      else { return nil }
      return template.shown
    case .list(let most, _, let isValid):
      guard let words = words(commas: true), words.count <= most, words.allSatisfy(isValid) else {
        return nil
      }
      return Shown.list(words)
    case .words(let known):
      guard let words = words(commas: true) else { return nil }
      if words == ["none"] { return Shown.list([]) }
      guard words.allSatisfy(known.contains), Set(words).count == words.count else { return nil }
      return Shown.list(words)
    case .kept:
      guard let words = words(commas: true) else { return nil }
      if words == ["no"] || words == ["yes"] { return words[0] }
      guard words.allSatisfy({ SecondRules.isAccountName($0) && $0 != "yes" && $0 != "no" })
      else { return nil }
      return Shown.list(words)
    case .executables: return executables
    case .command:
      guard let words = words(commas: false), words.count <= 256, words[0].hasPrefix("/") else {
        return nil
      }
      return Shown.list(words)
    case .domain:
      guard let text = text() else { return nil }
      let url = ["https://", "http://"].contains { text.hasPrefix($0) } ? text : "https://\(text)"
      guard SecondRules.isSafe(url), ["", "/"].contains(SecondRules.url(url)?.target) else {
        return nil
      }
      return url
    case .header, .variable, .tag, .parameter, .claim: return memberOf(kind, member)
    }
  }

  private func memberOf(_ kind: ValueKind, _ name: String) -> String? {
    let (letters, digits) = (SecondRules.letters, SecondRules.digits)
    switch kind {
    case .header:
      let ours = [
        "host", "content-length", "content-type", "transfer-encoding", "connection",
        "credd-host-authorization",
      ]
      guard SecondRules.isMade(name, of: letters + digits + "!#$%&'*+-.^_`|~", 1...Int.max),
        !ours.contains(name.lowercased())
      else { return nil }
      return text().map { "\(name)=\($0)" }
    case .variable:
      guard Self.isVariable(name) else { return nil }
      return text(mayBeEmpty: true).map { "\(name)=\($0)" }
    case .parameter(let isLogout):
      guard SecondRules.isMade(name, of: letters + digits + "_.-", 1...64),
        let text = text(mayBeEmpty: true), SecondRules.isParameter(name, text, isLogout)
      else { return nil }
      return "\(name)=\(text)"
    case .claim:
      guard SecondRules.isShortName(name) else { return nil }
      return shown(.template(1024) { _ in true }).map { "\(name)=\($0)" }
    default:
      guard SecondRules.isMade(name, of: letters + digits + "_.:/+@-", 1...128) else { return nil }
      return shown(.template(256) { _ in true }).map { "\(name)=\($0)" }
    }
  }

  private static func isVariable(_ name: String) -> Bool {
    SecondRules.isMade(name, of: SecondRules.letters + SecondRules.digits + "_", 1...Int.max)
      && !SecondRules.digits.contains(name.prefix(1))
  }

  /// `1h30m`: each unit once, the larger first; digits alone are seconds.
  private static func milliseconds(_ text: String) -> Int? {
    let digits = SecondRules.digits
    if SecondRules.isMade(text, of: digits, 1...9) { return Int(text).map { $0 * 1000 } }
    var rest = text[...]
    var sum = 0
    for (unit, factor) in [
      ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ] {
      let number = rest.prefix { digits.contains($0) }
      let after = rest.dropFirst(number.count)
      let name = after.prefix { !digits.contains($0) }
      guard name == unit else { continue }
      guard (1...9).contains(number.count), let value = Int(number) else { return nil }
      sum += value * factor
      rest = after.dropFirst(name.count)
    }
    return rest.isEmpty && !text.isEmpty ? sum : nil
  }

  private static func rate(_ text: String) -> String? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, ["s", "m"].contains(parts[1]),
      SecondRules.isMade(parts[0], of: SecondRules.digits, 1...Int.max), let count = Int(parts[0]),
      (1...10_000).contains(count)
    else { return nil }
    return "\(count)/\(parts[1])"
  }

  private var endpoint: String? {
    guard let text = text(), let url = SecondRules.url(text), !url.target.contains("?") else {
      return nil
    }
    let plain = String(text.reversed().drop { $0 == "/" }.reversed())
    return SecondRules.url(plain) == nil ? nil : plain
  }

  private var executables: String? {
    guard let words = words(commas: true) else { return nil }
    var hasPath = false
    for word in words {
      let digest = word.dropFirst(7)
      let isDigest =
        hasPath && word.hasPrefix("sha256:")
        && SecondRules.isMade(String(digest), of: SecondRules.digits + "abcdefABCDEF", 64...64)
      guard word.hasPrefix("/") || isDigest, word.utf8.count <= 4095 else { return nil }
      hasPath = hasPath || word.hasPrefix("/")
    }
    return Shown.list(words)
  }

  /// An absolute path, its variables replaced.
  private func path(_ limit: Int) -> String? {
    guard var rest = text()?[...] else { return nil }
    var path = ""
    while let start = rest.firstRange(of: "${") {
      guard let end = rest[start.upperBound...].firstIndex(of: "}") else { return nil }
      let name = String(rest[start.upperBound..<end])
      guard Self.isVariable(name), let value = environment(name), !value.isEmpty else { return nil }
      path += rest[..<start.lowerBound] + value
      rest = rest[end...].dropFirst()
    }
    path += rest
    let hasControl = path.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return path.hasPrefix("/") && path.utf8.count <= limit && !hasControl ? path : nil
  }
}
