import CredCore

/// Every secret of a history holds a word and a number, so that it is found wherever it goes.
enum HistorySecret {
  static let word = "SECRET-"
  static let header = "SECRET-header"
  static let host = "SECRET-host"
  static let environment = "SECRET-environment"
  static let keys = "SECRET-keys"
  /// Begins the secret of an authenticator app. Such a secret is in base32.
  static let app = "SECRETofAnAppOf"
  /// Words of a backend about one person.
  static let note = "note-for-"

  static func password(of person: Int) -> String { "SECRET-password-\(person)" }

  static func text(_ number: Int) -> String { "\(word)\(number)" }

  /// A JWT with an expiration and further claims. credd passes the rest on unread, but for the header of
  /// a provider's.
  static func token(
    _ number: Int, expires: WallTime, claims more: String, header: String = "e30"
  ) -> String {
    let claims = #"{"exp":\#(expires.milliseconds / 1000)\#(more)}"#
    let part = String(decoding: Base64.encodeURL(Array(claims.utf8)), as: UTF8.self)
    return "\(header).\(part).\(text(number))"
  }

  /// The numbers of the secrets in a text; nil for one that has none, such as a password.
  static func numbers(in bytes: some Collection<UInt8>) -> [Int?] {
    numbers(in: bytes, after: word)
  }

  static func numbers(in bytes: some Collection<UInt8>, after word: String) -> [Int?] {
    let word = Array(word.utf8)
    var rest = bytes[...]
    var found: [Int?] = []
    while let start = rest.firstIndex(of: word[0]) {
      rest = rest[start...]
      guard rest.starts(with: word) else {
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst(word.count)
      let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
      found.append(Int(String(decoding: digits, as: UTF8.self)))
    }
    return found
  }
}
