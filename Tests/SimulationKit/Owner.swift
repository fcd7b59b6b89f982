import CredCore

/// The owner of a token, an identity or credentials: a number in everything simulated, which
/// reveals a mix-up.
///
/// A session may have several owners in its life: the uid may be given to another person, and each
/// person may sign in as several users.
struct Owner: Hashable {
  /// How a person is known.
  enum Kind: Int {
    case host = 0
    case alice, bob, developer, logins
  }

  let number: Int

  init(session: Int, generation: Int, _ kind: Kind) {
    number = session << 16 | (generation & 0xFFF) << 4 | kind.rawValue
  }

  /// An identity that Cognito gave to a guest. Cognito does not know to which one.
  init(guest: Int) {
    number = Self.guests | guest
  }

  init(number: Int) {
    self.number = number
  }

  private static let guests = 1 << 40

  /// Stands for every guest where owners are listed.
  static let anyGuest = Owner(guest: 0)

  var isGuest: Bool { number >= Self.guests }

  var guest: Int { number & (Self.guests - 1) }

  /// Nil for a guest.
  var session: Int? { isGuest ? nil : number >> 16 }

  /// The number of the person who has the uid.
  var generation: Int { number >> 4 & 0xFFF }

  /// Whether a backend knows the owner.
  var isVouchedFor: Bool {
    !isGuest && [Kind.host, .alice, .bob].contains { $0.rawValue == number & 0xF }
  }

  func isOfKind(_ kind: Kind) -> Bool { !isGuest && number & 0xF == kind.rawValue }

  // MARK: Identities

  private static let region = "us-east-1:"

  /// The id of the owner's identity.
  var identity: String {
    var text = Array(Self.region.utf8)
    Self.append(UInt64(number), to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  init?(identity text: String) {
    guard text.hasPrefix(Self.region), let number = Int(text.utf8.dropFirst(10)) else { return nil }
    self.number = number
  }

  /// Sixteen hexadecimal digits.
  var hex: [UInt8] {
    var text: [UInt8] = []
    Self.append(UInt64(number), to: &text)
    return text
  }

  fileprivate static func append(_ word: UInt64, to text: inout [UInt8]) {
    for shift in stride(from: 60, through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: word >> UInt64(shift)) & 15
      text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
    }
  }
}

/// The true content of a token or a session token, in place of a signature: its owner and its end.
/// The real readers pass it on unread.
struct Seal {
  let owner: Owner
  /// After this time no client may get it.
  let end: Instant
  let lifetime: Duration
  /// Whether credd could know the end: the server reported it together with its own time.
  let isEndKnown: Bool

  /// Seconds by which credd may be wrong about an end: `Date` has whole ones.
  static let slack = 1.1
  private static let length = 49

  /// Until when credd must hand credentials out.
  var servableUntil: Instant {
    end - min(.seconds(60), lifetime * 0.1) - .seconds(1) * Self.slack
  }

  var text: [UInt8] {
    var text: [UInt8] = [isEndKnown ? UInt8(ascii: "K") : UInt8(ascii: "U")]
    text.reserveCapacity(Self.length)
    Owner.append(UInt64(owner.number), to: &text)
    Owner.append(UInt64(bitPattern: end.nanoseconds), to: &text)
    Owner.append(UInt64(bitPattern: lifetime.wholeNanoseconds), to: &text)
    return text
  }

  init(_ owner: Owner, end: Instant, lifetime: Duration, isEndKnown: Bool = true) {
    self.owner = owner
    self.end = end
    self.lifetime = lifetime
    self.isEndKnown = isEndKnown
  }

  /// Reads the seal at the end of a token.
  init?(_ token: some RandomAccessCollection<UInt8>) {
    let seal = token.suffix(Self.length)
    guard seal.count == Self.length, let owner = Int(seal.dropFirst(1).prefix(16)),
      let end = Int(seal.dropFirst(17).prefix(16)),
      let lifetime = Int(seal.dropFirst(33).prefix(16))
    else { return nil }
    self.owner = Owner(number: owner)
    self.end = Instant(nanoseconds: Int64(end))
    self.lifetime = .nanoseconds(lifetime)
    isEndKnown = seal.first == UInt8(ascii: "K")
  }

  /// A token: a JWT with an expiration, or an opaque text.
  func token(expires: WallTime?) -> [UInt8] {
    guard let expires else { return text }
    let claims = #"{"exp":\#(expires.decimalSeconds),"sub":"\#(owner.identity)"}"#
    return Array("e30.".utf8) + Base64URL.encode(Array(claims.utf8)) + [UInt8(ascii: ".")] + text
  }
}

extension WallTime {
  /// Seconds since 1970 with their milliseconds.
  var decimalSeconds: String {
    let fraction = String(milliseconds % 1000)
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.utf8.count)
      + fraction
  }
}

extension Int {
  /// Reads sixteen hexadecimal digits.
  init?(_ digits: some Collection<UInt8>) {
    guard digits.count == 16 else { return nil }
    var word: UInt64 = 0
    for digit in digits {
      switch digit {
      case 0x30...0x39: word = word << 4 | UInt64(digit - 0x30)
      case 0x61...0x66: word = word << 4 | UInt64(digit - 0x57)
      default: return nil
      }
    }
    self.init(truncatingIfNeeded: word)
  }
}
