import FoundationEssentials

/// A code that was sent to a user.
struct OneTimeCode: Sendable {
  enum Purpose: Hashable, Sendable {
    case signUp, password
    /// The verification of an address.
    case attribute(String)
    case factor

    var name: String {
      switch self {
      case .signUp: "SignUp"
      case .password: "ForgotPassword"
      case .attribute(let name): "Attribute " + name
      case .factor: "Factor"
      }
    }
  }

  var code: String
  var expiration: Date
  /// The attribute to whose address the code was sent.
  var attribute: String
  var address: String

  /// In seconds: 24 h for sign-up and attributes, 1 h for a forgotten password.
  static func lifetime(_ purpose: Purpose) -> Double {
    purpose == .password ? 3600 : 86_400
  }
}

/// The messages that a pool has sent. Only the control path shows them.
struct PoolMessages: Sendable {
  struct Message: Sendable {
    var username: String
    var address: String
    var purpose: String
    var code: String
    var time: Date

    var json: JSON {
      [
        "Username": .string(username), "Destination": .string(address),
        "Purpose": .string(purpose), "Code": .string(code), "Time": .string(time.iso8601Text),
      ]
    }
  }

  /// Older messages are forgotten.
  static let maximumMessages = 1024

  private var sent: [Message] = []

  mutating func send(_ message: Message) {
    if sent.count >= PoolMessages.maximumMessages { sent.removeFirst(sent.count / 2) }
    sent.append(message)
  }

  /// The messages, the latest first.
  func sent(to username: String?) -> [Message] {
    sent.reversed().filter { username == nil || $0.username == username }
  }
}

extension UserPool {
  /// Draws a code and sends it.
  mutating func newCode(
    to user: PoolUser, attribute: String, address: String, purpose: OneTimeCode.Purpose,
    digits: Int = 6, lifetime: Double? = nil
  ) -> OneTimeCode {
    let code = random.text(digits, of: Array("0123456789".utf8))
    messages.send(
      PoolMessages.Message(
        username: user.username, address: address, purpose: purpose.name, code: code, time: now))
    return OneTimeCode(
      code: code, expiration: now.addingTimeInterval(lifetime ?? OneTimeCode.lifetime(purpose)),
      attribute: attribute, address: address)
  }

  /// Sends a code for a later operation. It counts for the limit of the purpose.
  mutating func sendCode(
    to username: String, attribute: String, address: String, purpose: OneTimeCode.Purpose
  ) throws(ServiceError) -> JSON {
    let (limit, now) = (settings.attemptsPerHour, now)
    let user = try change(username) { user throws(ServiceError) in
      guard user.attempts.take("send " + purpose.name, limit: limit, at: now) else {
        throw .attemptLimit
      }
      return user
    }
    let code = newCode(to: user, attribute: attribute, address: address, purpose: purpose)
    try change(username) { user throws(ServiceError) in user.codes[purpose] = code }
    return UserPool.delivery(attribute, address)
  }

  /// Takes a code. A code is valid once, and too many wrong codes end it.
  mutating func takeCode(
    _ given: String, of username: String, purpose: OneTimeCode.Purpose,
    limit: ServiceError = .attemptLimit
  ) throws(ServiceError) -> OneTimeCode {
    let (most, now) = (settings.attemptsPerHour, now)
    return try change(username) { user throws(ServiceError) in
      guard user.attempts.take("try " + purpose.name, limit: most, at: now) else { throw limit }
      guard let code = user.codes[purpose], now < code.expiration else { throw .expiredCode }
      guard Cryptography.areEqual(code.code, given) else { throw .wrongCode }
      user.codes[purpose] = nil
      user.attempts.clear("try " + purpose.name)
      return code
    }
  }
}
