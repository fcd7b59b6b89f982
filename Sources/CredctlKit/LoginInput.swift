public import CredCore

/// One `--login PROVIDER=@FILE` or `--login PROVIDER=-`: the source of a provider's token.
///
/// A token itself is not allowed on the command line, because every user of the host could read it
/// there.
public struct LoginSource: Equatable, Sendable {
  public enum Origin: Equatable, Sendable {
    case file(String)
    case standardInput
  }

  /// The name in Cognito's logins map.
  public let provider: String
  public let origin: Origin

  /// What the text before `=` is.
  public enum Names: Sendable {
    /// Providers. Some have short names.
    case providers
    /// Attributes of an account, as they stand.
    case attributes
  }

  /// Providers with names in the logins map that nobody remembers (Cognito developer guide,
  /// external identity providers). A real name has a dot, so it cannot be the same as a short name.
  private static let shortNames = [
    "facebook": "graph.facebook.com", "google": "accounts.google.com",
    "amazon": "www.amazon.com", "apple": "appleid.apple.com", "twitter": "api.twitter.com",
  ]

  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for a name that no provider can have.
  private static func provider(_ name: String, option: String) throws(Failure) -> String {
    if let provider = shortNames[name] { return provider }
    // Host names have a dot, ARNs of SAML providers a colon, issuers in a local network a slash.
    guard name.utf8.contains(where: { Array(".:/".utf8).contains($0) }) else {
      let known = shortNames.keys.sorted()
      let others =
        "; the short names are \(known.joined(separator: ", ")), and others are as in Cognito's logins "
        + "map, such as login.example.com"
      throw Failure(
        .usage,
        "option '\(option)': there is no provider '\(PlainText.oneLine(name))'"
          + NearestName.suggestion(name, in: known, otherwise: others))
    }
    return name
  }

  /// - Throws: a ``Failure`` with ``Sysexit/usage``. It does not repeat the text after `=`.
  public init(
    _ text: String, option: String = "--login", names: Names = .providers
  ) throws(Failure) {
    // ARNs of SAML providers and names of user pools have no `=`, so the first one ends the provider.
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw Failure(.usage, "option '\(option)' takes NAME=@FILE or NAME=-")
    }
    let name = String(text[..<equals])
    provider =
      switch names {
      case .providers: try Self.provider(name, option: option)
      case .attributes: name
      }
    let source = text[text.index(after: equals)...]
    if source == "-" {
      origin = .standardInput
    } else if source.hasPrefix("@"), source.count > 1 {
      origin = .file(String(source.dropFirst()))
    } else {
      throw Failure(
        .usage,
        "option '\(option) \(provider)=' takes @FILE or -, not a token: others would see it")
    }
  }

  /// Reads several sources. Each provider may occur once, and at most one source may be standard
  /// input.
  public static func list(
    _ texts: [String], option: String = "--login", names: Names = .providers,
    most: Int = Limits.Upstream.logins
  ) throws(Failure) -> [LoginSource] {
    var sources: [LoginSource] = []
    for text in texts {
      let source = try LoginSource(text, option: option, names: names)
      guard !sources.contains(where: { $0.provider == source.provider }) else {
        throw Failure(.usage, "option '\(option)' names \(source.provider) twice")
      }
      sources.append(source)
    }
    guard sources.count(where: { $0.origin == .standardInput }) <= 1 else {
      throw Failure(.usage, "option '\(option)' reads standard input only once")
    }
    guard sources.count <= most else {
      throw Failure(.usage, "option '\(option)' is taken \(most) times at most")
    }
    return sources
  }
}

/// A line that the user types into a raw terminal, without echo.
public struct PasswordLine: Sendable {
  public enum Step: Equatable, Sendable {
    case more
    case done(Secret)
    case cancelled
  }

  /// Where an escape sequence is: terminals send one for a key, and around pasted text (bracketed paste,
  /// `ESC [ 200 ~ … ESC [ 201 ~`). It is no part of a password.
  private enum Escape {
    case none
    case begun
    /// After `ESC [`.
    case introduced
    /// Then, up to the final byte (ECMA-48, 5.4).
    case control
    /// One byte is left: after `ESC O`, which terminals send for F1, and after `ESC [ [`, which the Linux
    /// console does.
    case last
  }

  private var bytes: [UInt8] = []
  private var escape = Escape.none

  public init() {}

  /// Takes a byte from the terminal.
  public mutating func typed(_ byte: UInt8) -> Step {
    if isOfEscape(byte) { return .more }
    switch byte {
    case 0x0A, 0x0D: return .done(Secret(bytes))
    case 0x03: return .cancelled  // ^C
    case 0x04 where bytes.isEmpty: return .cancelled  // ^D
    case 0x08, 0x7F: removeCharacter()
    case 0x15: bytes.removeAll(keepingCapacity: true)  // ^U
    case 0x00..<0x20: break
    default:
      guard bytes.count < InputLimits.secret else { return .cancelled }
      bytes.append(byte)
    }
    return .more
  }

  private mutating func isOfEscape(_ byte: UInt8) -> Bool {
    switch (escape, byte) {
    case (_, 0x1B): escape = .begun
    case (.begun, UInt8(ascii: "[")): escape = .introduced
    case (.begun, UInt8(ascii: "O")), (.introduced, UInt8(ascii: "[")): escape = .last
    case (.introduced, 0x20..<0x40), (.control, 0x20..<0x40): escape = .control
    case (.introduced, 0x40..<0x7F), (.control, 0x40..<0x7F), (.last, 0x20..<0x7F): escape = .none
    default:
      escape = .none
      return false
    }
    return true
  }

  private mutating func removeCharacter() {
    // UTF-8 continuation bytes belong to the character before them.
    while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
  }
}

/// Finds the secret in the text of a file or a pipe.
public enum SecretText {
  /// The text without the byte order mark and the white space that editors and `echo` put around it.
  ///
  /// - Parameter name: the name of the secret, for the error.
  public static func token(_ bytes: [UInt8], name: String) throws(Failure) -> Secret {
    try checked(Array(bytes.withoutByteOrderMark.trimmed), name: name)
  }

  /// The first line without a byte order mark and its line break. Spaces belong to a password.
  public static func password(_ bytes: [UInt8]) throws(Failure) -> Secret {
    var line = Array(bytes.withoutByteOrderMark.prefix { $0 != 0x0A })
    if line.last == 0x0D { line.removeLast() }
    return try checked(line, name: "password")
  }

  private static func checked(_ bytes: [UInt8], name: String) throws(Failure) -> Secret {
    guard !bytes.isEmpty else { throw Failure(.dataError, "the \(name) is empty") }
    guard isText(bytes) else { throw Failure(.dataError, "the \(name) is not UTF-8 text") }
    return Secret(bytes)
  }

  /// A `String` of up to 15 bytes would be a copy on the stack that is never wiped.
  private static func isText(_ bytes: [UInt8]) -> Bool {
    var decoder = UTF8()
    var rest = bytes.makeIterator()
    while true {
      switch decoder.decode(&rest) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}
