public import CredCore

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
