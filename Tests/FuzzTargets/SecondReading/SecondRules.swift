/// What names, ids and tokens look like, as the documents of AWS and the manual say.
enum SecondRules {
  static let lower = "abcdefghijklmnopqrstuvwxyz"
  static let letters = lower + lower.uppercased()
  static let digits = "0123456789"

  /// Whether a text has so many bytes, all of them of an alphabet in ASCII.
  static func isMade(_ text: String, of alphabet: String, _ length: ClosedRange<Int>) -> Bool {
    let known = Set(alphabet.utf8)
    return length.contains(text.utf8.count) && text.utf8.allSatisfy { known.contains($0) }
  }

  static func isVisible(_ text: String, _ length: ClosedRange<Int>) -> Bool {
    length.contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  static func isProfileName(_ text: String) -> Bool {
    isMade(text, of: letters + digits + "._-", 1...64)
  }

  /// `[\w-]+:[0-9a-f-]+`, at most 55 characters.
  static func isIdentityID(_ text: String) -> Bool {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    return parts.count == 2 && text.utf8.count <= 55
      && isMade(String(parts[0]), of: letters + digits + "_-", 1...55)
      && isMade(String(parts[1]), of: digits + "abcdef-", 1...55)
  }

  /// An IdentityId whose region can be part of a host name.
  static func isPoolID(_ text: String) -> Bool {
    let region = String(text.prefix { $0 != ":" })
    return isIdentityID(text) && isMade(region, of: lower + digits + "-", 1...32)
      && lower.contains(region.prefix(1)) && region.last != "-"
  }

  /// `region_name`, at most 55 bytes.
  static func isUserPoolID(_ text: String) -> Bool {
    let parts = text.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= 55 else { return false }
    let region = String(parts[0])
    return isMade(region, of: lower + digits + "-", 1...32) && lower.contains(region.prefix(1))
      && region.last != "-" && isMade(String(parts[1]), of: letters + digits, 1...55)
  }

  static func isToken(_ text: String) -> Bool {
    (1...50_000).contains(text.unicodeScalars.count)
  }
}

// MARK: Issuers

extension SecondRules {
  /// https anywhere, http on this host.
  static func isIssuer(_ text: String) -> Bool {
    let isSafe = url(text).map { $0.isEncrypted || isLoopback($0.host) } ?? false
    return isSafe && !text.contains("?") && text.utf8.count <= 512
  }
}

// MARK: URLs

extension SecondRules {
  /// Scheme, host and what follows; nil for a text that is no URL of credd's.
  static func url(_ text: String) -> (isEncrypted: Bool, host: String, target: String)? {
    let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
    guard let scheme else { return nil }
    let rest = String(text.dropFirst(scheme.count))
    let known = letters + digits + "-._~:/?[]@!$&'()*+,;=%"
    guard isMade(rest, of: known, 1...Int.max) else { return nil }
    for part in rest.split(separator: "%", omittingEmptySubsequences: false).dropFirst()
    where !isMade(String(part.prefix(2)), of: digits + "abcdefABCDEF", 2...2) { return nil }
    let authority = String(rest.prefix { $0 != "/" && $0 != "?" })
    let target = String(rest.dropFirst(authority.count))
    let segments = target.lowercased().split { "/?".contains($0) }.map(String.init)
    let dots = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
    guard !authority.contains("@"), let host = host(authority),
      host.contains(":") || !isMade(host, of: "-._", 1...Int.max),
      !segments.contains(where: dots.contains),
      !target.contains("["), !target.contains("]")
    else { return nil }
    return (scheme == "https://", host, target)
  }

  private static func host(_ authority: String) -> String? {
    var host = authority
    var port: String?
    if authority.hasPrefix("[") {
      let parts = authority.dropFirst().split(separator: "]", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[1].isEmpty || parts[1].hasPrefix(":"), parts[0].contains(":"),
        isMade(String(parts[0]), of: digits + "abcdefABCDEF:.", 1...Int.max)
      else { return nil }
      host = String(parts[0])
      port = parts[1].isEmpty ? nil : String(parts[1].dropFirst())
    } else {
      let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count <= 2, isMade(String(parts[0]), of: letters + digits + "-._", 1...253) else {
        return nil
      }
      host = String(parts[0])
      port = parts.count == 2 ? String(parts[1]) : nil
    }
    if let port {
      guard isMade(port, of: digits, 1...Int.max), let number = UInt16(port), number > 0 else {
        return nil
      }
    }
    return host.lowercased()
  }

  /// `localhost`, `::1` and 127.0.0.0/8 in four plain decimal numbers.
  static func isLoopback(_ host: String) -> Bool {
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let known = Set((0...255).map { "\($0)" })
    return host == "localhost" || host == "::1"
      || numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy(known.contains)
  }

  /// The parts of a template, literals in quotes, and its text with an `x` for each placeholder; nil
  /// for a text that is none.
  static func template(
    _ text: String
  ) -> (shown: String, literals: [String], plain: String)? {
    var rest = Array(text)[...]
    var literals = [""]
    var names: [String] = []
    while let character = rest.popFirst() {
      if character == "{" || character == "}", rest.first == character {
        rest = rest.dropFirst()
        literals[literals.count - 1].append(character)
      } else if character == "{" {
        let name = String(rest.prefix { $0 != "}" })
        rest = rest.dropFirst(name.count)
        guard rest.popFirst() == "}", ["user", "uid", "host"].contains(name) else { return nil }
        names.append(name)
        literals.append("")
      } else if character == "}" {
        return nil
      } else {
        literals[literals.count - 1].append(character)
      }
    }
    var (shown, plain) = ("", "")
    for (index, literal) in literals.enumerated() {
      shown += literal.isEmpty ? "" : "'\(literal)'"
      shown += index < names.count ? "{\(names[index])}" : ""
      plain += literal + (index < names.count ? "x" : "")
    }
    return (shown, literals.filter { !$0.isEmpty }, plain)
  }

  /// A template of which no placeholder stands before the path or query.
  static func urlTemplate(_ text: String) -> String? {
    guard let template = template(text), url(template.plain) != nil else { return nil }
    guard template.plain != template.literals.joined() else { return template.shown }
    let start = template.shown.hasPrefix("'") ? template.literals[0] : ""
    let authority = start.drop { $0 != ":" }.dropFirst(3)
    return authority.contains { $0 == "/" || $0 == "?" } ? template.shown : nil
  }
}
