/// How the text of a file is read that the configuration names, as editors and tools leave it.
public enum FileText: Sendable, Equatable {
  /// A token, a secret or a value: one line. White space at its ends is no part of it.
  case line
  /// Several lines, in a format that the caller reads.
  case lines

  /// The text without a byte order mark; a line without white space at its ends.
  ///
  /// - Parameter key: of the configuration, for the error.
  /// - Throws: what is wrong, without a word of the content.
  public func read(
    _ content: Secret, _ path: String, as key: String
  ) throws(InvalidInput) -> Secret {
    if let fault = fault(in: content) {
      throw InvalidInput(field: key, reason: "\(path) \(fault)")
    }
    let text = content.bytes.withoutByteOrderMark
    return Secret(Array(self == .line ? text.trimmed : text))
  }

  /// What is wrong with a content, as a predicate of its file; nil if nothing is.
  public func fault(in content: Secret) -> String? {
    let text = content.bytes.withoutByteOrderMark
    // UTF-16 has one in each letter of ASCII.
    guard !text.contains(0) else { return "holds a NUL byte: save it as UTF-8" }
    guard self == .line else { return nil }
    let line = text.trimmed
    if line.isEmpty { return text.isEmpty ? "is empty" : "holds nothing but white space" }
    return line.contains(where: \.isLineBreak) ? "has more than one line" : nil
  }
}

extension [UInt8] {
  /// The bytes behind a byte order mark of UTF-8, which some editors put before a text.
  public var withoutByteOrderMark: ArraySlice<UInt8> {
    dropFirst(starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
  }
}

extension Secret {
  /// Whether a PEM block of that kind begins in it, such as `-----BEGIN EC PRIVATE KEY-----`.
  public func holdsPEM(_ kind: String) -> Bool {
    bytes.contains(bytes: "-----BEGIN ".utf8) && bytes.contains(bytes: "\(kind)-----".utf8)
  }

  /// The number of the line, from 1, in which a text occurs at this byte of the file or after it.
  public func line(ofBlock text: String, from start: Int) -> Int {
    let words = Array(text.utf8)
    let found = bytes.indices.dropFirst(start).first { bytes[$0...].starts(with: words) } ?? start
    return 1 + bytes.prefix(found).count(where: { $0 == UInt8(ascii: "\n") })
  }

  /// Whether a private key in PEM takes a passphrase: PKCS #8 (RFC 5958), or OpenSSL's older form.
  public var holdsEncryptedKey: Bool {
    bytes.contains(bytes: "-----BEGIN ENCRYPTED PRIVATE KEY-----".utf8)
      || bytes.contains(bytes: "Proc-Type: 4,ENCRYPTED".utf8)
  }
}
