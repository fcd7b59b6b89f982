/// The secrets that credd sent with a request or to a command. A backend may repeat them in an
/// error, and the error's text reaches users and the journal.
public struct SentSecrets: Sendable, Equatable {
  /// Shorter values are words such as `on`, not secrets.
  static let shortest = 4
  /// Parts of a value with at least this length are also searched separately: `Basic dXNlcjpwYXNz`
  /// may come back without its scheme.
  static let shortestPart = 8

  /// The longest first, because one may be a part of another.
  private let texts: [Secret]
  /// Names of the configuration that are shown, although they look like secrets: ids of clients.
  let names: Set<String>

  public init(_ secrets: [Secret] = [], names: [String] = []) {
    self.names = Set(names)
    var all: [Secret] = []
    for secret in secrets {
      let whole = secret.bytes.trimmed
      all.append(Secret(Array(whole)))
      for part in whole.split(whereSeparator: \.isWhiteSpace)
      where part.count >= Self.shortestPart && part.count < whole.count {
        all.append(Secret(Array(part)))
      }
    }
    texts = all.filter { $0.count >= Self.shortest }.sorted { $0.count > $1.count }
  }

  /// Whether one of the secrets occurs in the bytes.
  func occur(in bytes: some Collection<UInt8>) -> Bool {
    texts.contains { bytes.contains(bytes: $0.bytes) }
  }

  /// The bytes with an ellipsis in place of each secret.
  func hide(in bytes: some Collection<UInt8>) -> [UInt8] {
    texts.reduce(Array(bytes)) { text, secret in
      guard text.contains(bytes: secret.bytes) else { return text }
      var rest = text[...]
      var cleaned: [UInt8] = []
      while let byte = rest.first {
        if rest.starts(with: secret.bytes) {
          cleaned += Array("…".utf8)
          rest = rest.dropFirst(secret.count)
        } else {
          cleaned.append(byte)
          rest = rest.dropFirst()
        }
      }
      return cleaned
    }
  }
}

extension HTTPRequest {
  /// The values of the request's headers that may reveal something about a user or a host.
  public var secretHeaders: [Secret] {
    headers.filter { !Self.plainHeaders.contains($0.name.lowercased()) }.map(\.value)
  }

  private static let plainHeaders: Set = [
    "accept", "cache-control", "content-type", "host", "x-amz-content-sha256", "x-amz-date",
    "x-amz-target",
  ]
}
