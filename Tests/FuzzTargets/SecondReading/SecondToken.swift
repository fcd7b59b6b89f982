import CredCore

/// The second reading of a developer token: its claims, if it is a JWT.
struct SecondToken: Equatable {
  var expiration: WallTime?
  var audience: String?

  /// Nil for a token that Cognito would not take.
  init?(_ token: [UInt8]) {
    let characters = String(decoding: token, as: UTF8.self).unicodeScalars.count
    guard (1...50_000).contains(characters) else { return nil }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = SecondBase64.decode(Array(parts[1]), last: "-_"),
      let claims = SecondJSONReading(payload).value
    else { return }
    audience = claims["aud"]?.text
    expiration = Self.time(claims["exp"]?.number)
  }

  /// Seconds since 1970 with ten digits before the point.
  static func time(_ seconds: Double?) -> WallTime? {
    guard let seconds, seconds >= 1_000_000_000, seconds < 10_000_000_000 else { return nil }
    return WallTime(milliseconds: Int64((seconds * 1000).rounded()))
  }
}
