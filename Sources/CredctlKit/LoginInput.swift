public import CredCore

/// One `--login PROVIDER=@FILE` or `--login PROVIDER=-`: where a provider's token is read from.
///
/// A token on the command line itself would be there for every user of the host to read.
public struct LoginSource: Equatable, Sendable {
  public enum Place: Equatable, Sendable {
    case file(String)
    case standardInput
  }

  public let provider: String
  public let place: Place

  /// - Throws: a ``Failure`` with ``Sysexit/usage``, which does not repeat the text after `=`.
  public init(_ text: String) throws(Failure) {
    // SAML provider ARNs and user pools hold no `=`, so the first one ends the provider.
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw Failure(.usage, "option '--login' takes PROVIDER=@FILE or PROVIDER=-")
    }
    provider = String(text[..<equals])
    let source = text[text.index(after: equals)...]
    if source == "-" {
      place = .standardInput
    } else if source.hasPrefix("@"), source.count > 1 {
      place = .file(String(source.dropFirst()))
    } else {
      throw Failure(
        .usage,
        "option '--login \(provider)=' takes @FILE or -, not a token: others would see it")
    }
  }

  /// Several of them: each provider once, at most one on standard input.
  public static func list(_ texts: [String]) throws(Failure) -> [LoginSource] {
    var sources: [LoginSource] = []
    for text in texts {
      let source = try LoginSource(text)
      guard !sources.contains(where: { $0.provider == source.provider }) else {
        throw Failure(.usage, "option '--login' names \(source.provider) twice")
      }
      sources.append(source)
    }
    guard sources.count(where: { $0.place == .standardInput }) <= 1 else {
      throw Failure(.usage, "option '--login' reads standard input for one provider only")
    }
    guard sources.count <= Limits.logins else {
      throw Failure(.usage, "option '--login' takes \(Limits.logins) providers at most")
    }
    return sources
  }
}

/// A line typed without echo into a terminal that passes every key on.
public struct PasswordLine: Sendable {
  public enum Step: Equatable, Sendable {
    case more
    case done(Secret)
    case cancelled
  }

  private var bytes: [UInt8] = []

  public init() {}

  /// A byte has come from the terminal.
  public mutating func typed(_ byte: UInt8) -> Step {
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

  private mutating func removeCharacter() {
    // UTF-8 continuation bytes belong to the character before them.
    while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
  }
}

/// What was read from a file or a pipe, as the secret it holds.
public enum SecretText {
  /// The text without the white space around it, which editors and `echo` put there.
  ///
  /// - Parameter name: what it should be, for the error.
  public static func token(_ bytes: [UInt8], name: String) throws(Failure) -> Secret {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    let trimmed = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    return try checked(Array(trimmed), name: name)
  }

  /// The first line without its end: spaces are part of a password.
  public static func password(_ bytes: [UInt8]) throws(Failure) -> Secret {
    var line = Array(bytes.prefix { $0 != 0x0A })
    if line.last == 0x0D { line.removeLast() }
    return try checked(line, name: "password")
  }

  private static func checked(_ bytes: [UInt8], name: String) throws(Failure) -> Secret {
    guard !bytes.isEmpty else { throw Failure(.usage, "the \(name) is empty") }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw Failure(.usage, "the \(name) is not UTF-8 text")
    }
    return Secret(bytes)
  }
}
