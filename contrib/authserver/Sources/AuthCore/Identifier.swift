/// A developer user identifier: what a user is called to Cognito.
///
/// Accounts that people register begin with `account:` or `sample:`. Names that hosts vouch for are
/// bare and never begin so, unless the configuration lets the two share their names.
public struct Identifier: Sendable, Hashable {
  /// Where a user comes from.
  public enum Kind: String, Sendable, CaseIterable {
    /// Registered here, signs in with a password.
    case account
    /// A host vouches for it.
    case vouched
    /// Registered through the sample protocol.
    case sample

    /// What identifiers of this kind begin with.
    public var prefix: String { self == .vouched ? "" : rawValue + ":" }
  }

  /// As Cognito knows it.
  public let text: String
  public let kind: Kind
  /// Without the prefix: what patterns match.
  public let name: String

  /// Reads an identifier as a callback names it.
  public init(_ text: String) throws(InvalidName) {
    try InvalidName.check(text)
    let kind = Kind.allCases.first { $0 != .vouched && text.hasExactPrefix($0.prefix) } ?? .vouched
    self.text = text
    self.kind = kind
    // By bytes: a mark behind the prefix would be one Character with the prefix's colon.
    name = String(decoding: text.utf8.dropFirst(kind.prefix.utf8.count), as: UTF8.self)
    try InvalidName.check(name)
    // A host's name must not be a name that people would take for an account's.
    for other in Kind.allCases where kind == .vouched && other != .vouched {
      guard !Self.fold(text).hasExactPrefix(other.prefix) else {
        throw InvalidName("begins with \(other.prefix)")
      }
    }
  }

  /// A registered name.
  ///
  /// - Parameter shared: the account has a bare identifier (`shared_names = yes`).
  public init(registering name: String, as kind: Kind, shared: Bool = false) throws(InvalidName) {
    try InvalidName.check(name)
    for other in Kind.allCases where other != .vouched {
      guard !Self.fold(name).hasExactPrefix(other.prefix) else {
        throw InvalidName("begins with \(other.prefix)")
      }
    }
    self.name = name
    self.kind = kind
    text = (shared && kind == .account ? "" : kind.prefix) + name
    try InvalidName.check(text)
  }

  public static func == (left: Identifier, right: Identifier) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }

  /// The key that must be unique among all users. Registered names differ in more than case.
  /// Vouched names may differ in any byte, because the names of a host's users may.
  public var uniqueKey: String {
    kind == .vouched ? "=" + text : kind.prefix + Self.fold(name)
  }

  /// The same text for names that people would take for each other.
  public static func fold(_ name: String) -> String {
    // Upper case joins letters that have several lower-case forms, as ſ and s, or ß and ss. A
    // letter that is upper case already, as ẞ, must be lower case before that.
    name.lowercased().uppercased().lowercased().composed
  }
}

/// Why a name cannot be one.
public struct InvalidName: Error, Equatable, CustomStringConvertible {
  public let reason: String

  init(_ reason: String) { self.reason = reason }

  public var description: String { reason }

  static func check(_ name: String) throws(InvalidName) {
    guard !name.isEmpty else { throw InvalidName("is empty") }
    guard name.utf8.count <= Limits.identifierLength else {
      throw InvalidName("has more than \(Limits.identifierLength) bytes")
    }
    for scalar in name.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        throw InvalidName("holds a control character or one that cannot be seen")
      default: break
      }
      // Characters that nobody sees: variation selectors, Hangul fillers and their like.
      guard !scalar.properties.isDefaultIgnorableCodePoint else {
        throw InvalidName("holds a control character or one that cannot be seen")
      }
    }
    try checkEnds(name)
    guard name.utf8.elementsEqual(name.composed.utf8) else {
      throw InvalidName("is not in Unicode's composed form (NFC)")
    }
  }
}

extension InvalidName {
  /// The first character must be no mark, because it would join the character before the name. The
  /// first and the last character must be no blanks.
  fileprivate static func checkEnds(_ name: String) throws(InvalidName) {
    let scalars = name.unicodeScalars
    guard let first = scalars.first, let last = scalars.last, !first.properties.isWhitespace,
      !last.properties.isWhitespace
    else { throw InvalidName("begins or ends with a blank") }
    switch first.properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark:
      throw InvalidName("begins with a mark that belongs to a letter before it")
    default: return
    }
  }
}

extension String {
  /// Byte for byte: Swift's comparison takes canonical equivalents for the same.
  func hasExactPrefix(_ prefix: String) -> Bool {
    !prefix.isEmpty && utf8.starts(with: prefix.utf8)
  }
}
