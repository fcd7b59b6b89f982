import FoundationEssentials

/// A second factor.
enum Factor: String, Sendable, CaseIterable {
  case sms = "SMS_MFA"
  case software = "SOFTWARE_TOKEN_MFA"
  case email = "EMAIL_OTP"

  /// The attribute to which codes go.
  var address: String? {
    switch self {
    case .sms: "phone_number"
    case .email: "email"
    case .software: nil
    }
  }
}

/// A user of a user pool.
struct PoolUser: Sendable {
  enum Status: String, Sendable, CaseIterable {
    case unconfirmed = "UNCONFIRMED"
    case confirmed = "CONFIRMED"
    case mustChangePassword = "FORCE_CHANGE_PASSWORD"
    case mustResetPassword = "RESET_REQUIRED"
  }

  /// The user name. It never changes; it is a UUID if users sign up with an address.
  let username: String
  /// A UUID.
  let sub: String
  var status: Status
  var isDisabled = false
  var attributes: [String: String] = [:]
  /// New addresses that do not count yet.
  var pendingAttributes: [String: String] = [:]
  var groups: [String] = []
  /// nil: the user has no password.
  var verifier: SRPVerifier?
  /// Earlier passwords, the latest first.
  var history: [SRPVerifier] = []
  var passwordSetAt = Date(timeIntervalSince1970: 0)
  var factors: Set<Factor> = []
  var preferredFactor: Factor?
  var softwareToken: SoftwareToken?
  /// A secret that was given out but is not proven yet.
  var pendingSecret: [UInt8]?
  var devices: [String: PoolDevice] = [:]
  var lockout = Lockout()
  var codes: [OneTimeCode.Purpose: OneTimeCode] = [:]
  var attempts = AttemptCounts()

  init(username: String, sub: String, status: Status) {
    self.username = username
    self.sub = sub
    self.status = status
  }

  func isVerified(_ attribute: String) -> Bool { attributes[attribute + "_verified"] == "true" }

  /// Sets an attribute, and applies the effects of the change.
  mutating func set(_ attribute: String, _ value: String) {
    if value.isEmpty {
      attributes[attribute] = nil
      attributes[attribute + "_verified"] = nil
      return
    }
    if ["email", "phone_number"].contains(attribute), attributes[attribute] != value {
      attributes[attribute + "_verified"] = "false"
    }
    attributes[attribute] = value
  }

  /// The attributes in the form of GetUser.
  var attributeList: JSON {
    var all = attributes
    all["sub"] = sub
    return .array(
      all.sorted { $0.key < $1.key }.map { ["Name": .string($0.key), "Value": .string($0.value)] })
  }

  /// The factors that the user has set up or turned on.
  var factorList: [Factor] { Factor.allCases.filter(factors.contains) }
}

/// The lockout after wrong passwords: one second after five, doubled with each further one.
struct Lockout: Sendable {
  static let freeFailures = 5
  static let longest = 900.0

  private var failures = 0
  private var end = Date(timeIntervalSince1970: 0)

  func isOn(at now: Date) -> Bool { now < end }

  mutating func failed(at now: Date) {
    failures += 1
    guard failures >= Lockout.freeFailures else { return }
    let doublings = min(failures - Lockout.freeFailures, 10)
    end = now.addingTimeInterval(min(Double(1 << doublings), Lockout.longest))
  }

  mutating func succeeded() { self = Lockout() }
}

/// How often actions were done in the last hour.
struct AttemptCounts: Sendable {
  private var times: [String: [Date]] = [:]

  /// Counts an attempt. Returns false if there were too many.
  mutating func take(_ purpose: String, limit: Int, at now: Date) -> Bool {
    var recent = (times[purpose] ?? []).filter { now.timeIntervalSince($0) < 3600 }
    guard recent.count < limit else { return false }
    recent.append(now)
    times[purpose] = recent
    return true
  }

  mutating func clear(_ purpose: String) { times[purpose] = nil }
}
