import FoundationEssentials
import SeededRandom

/// The authentication server of Amazon's developer-authentication sample, under `/sample/`.
enum SampleServer {
  static let prefix = "/sample/"

  /// `registeruser`, `login` or `gettoken`.
  static func operation(of request: HTTPRequest) -> String? {
    guard request.path.hasPrefix(prefix) else { return nil }
    let name = String(request.path.dropFirst(prefix.count))
    return ["registeruser", "login", "gettoken"].contains(name) ? name : nil
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      guard ["GET", "POST"].contains(request.method) else {
        throw ServiceError(status: 405, "MethodNotAllowed", "Method not allowed")
      }
      let call = SampleCall(request)
      let text =
        switch operation(of: request) {
        case "registeruser": try state.register(call)
        case "login": try state.login(call, at: now)
        default: try state.getToken(call, fault: fault, at: now)
        }
      return plain(200, text)
    } catch {
      return reply(with: error)
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply { plain(error.status, error.message) }

  private static func plain(_ status: Int, _ text: String) -> HTTPReply {
    HTTPReply(
      status: status, headers: [HTTPField("Content-Type", "text/plain; charset=UTF-8")],
      body: Array((text + "\n").utf8))
  }
}

/// The parameters of one call, and the name under which the server was called.
struct SampleCall {
  let parameters: FormParameters
  /// The host in lower case, without a port.
  let host: String

  init(_ request: HTTPRequest) {
    parameters = FormParameters(of: request)
    let name = (request.header("Host") ?? "localhost").lowercased()
    host =
      name.hasPrefix("[")
      ? String(name.prefix { $0 != "]" }) + "]" : String(name.prefix { $0 != ":" })
  }

  func required(_ name: String) throws(ServiceError) -> String {
    guard let value = parameters[name], !value.isEmpty else {
      throw ServiceError(status: 400, "MissingParameter", "Missing parameter: \(name)")
    }
    return value
  }

  /// A timestamp that is at most a quarter of an hour off.
  func timestamp(at now: Date) throws(ServiceError) -> String {
    let text = try required("timestamp")
    guard let date = Date(iso8601Text: text),
      abs(date.timeIntervalSince(now)) <= SampleProtocol.tolerance
    else { throw SampleCall.unauthorized("Invalid timestamp") }
    return text
  }

  /// `provider1`, `token1`, `provider2`, … in order.
  var logins: [(provider: String, token: String)] {
    var logins: [(provider: String, token: String)] = []
    // Cognito accepts ten logins.
    for index in 1...10 {
      guard let provider = parameters["provider\(index)"], let token = parameters["token\(index)"]
      else { break }
      logins.append((provider, token))
    }
    return logins
  }

  static func unauthorized(_ message: String) -> ServiceError {
    ServiceError(status: 401, "Unauthorized", message)
  }
}

/// The three calls of the sample server.
extension SandboxState {
  mutating func register(_ call: SampleCall) throws(ServiceError) -> String {
    let name = try call.required("username")
    let password = try call.required("password")
    guard (3...128).contains(name.utf8.count),
      name.utf8.allSatisfy({ InputRule.isWord($0) || ".@".utf8.contains($0) })
    else { throw ServiceError("InvalidParameter", "Invalid username") }
    guard (6...128).contains(password.unicodeScalars.count) else {
      throw ServiceError("InvalidParameter", "Invalid password")
    }
    guard users.existing(name) == nil else {
      throw ServiceError(status: 406, "Duplicate", "Duplicate registration")
    }
    var user = User(name: name, password: password)
    user.saltedPassword = SampleProtocol.salted(password, user: name, host: call.host)
    guard users.store(user) else {
      throw ServiceError(status: 500, "LimitExceeded", "Too many users")
    }
    return "Successfully registered user: \(name)"
  }

  mutating func login(_ call: SampleCall, at now: Date) throws(ServiceError) -> String {
    let name = try call.required("username")
    let uid = try call.required("uid")
    let signature = try call.required("signature")
    let timestamp = try call.timestamp(at: now)
    guard let user = users.user(name), !user.isDisabled else {
      throw SampleCall.unauthorized("Unknown user")
    }
    // A user from the seed has never registered under a host name, so any host name is accepted.
    let salted =
      user.saltedPassword ?? SampleProtocol.salted(user.password, user: name, host: call.host)
    let expected = SampleProtocol.signature(of: timestamp, key: salted)
    guard Cryptography.areEqual(expected, signature) else {
      throw SampleCall.unauthorized("Error matching signature")
    }
    let key = random.text(32, of: Array("0123456789abcdef".utf8))
    try devices.store(DeviceDirectory.Device(user: name, key: key), as: uid)
    return try SampleProtocol.encrypted(
      SampleProtocol.keyReply(key), key: salted, vector: vector())
  }

  mutating func getToken(
    _ call: SampleCall, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> String {
    let uid = try call.required("uid")
    let signature = try call.required("signature")
    let timestamp = try call.timestamp(at: now)
    guard let device = devices[uid] else { throw SampleCall.unauthorized("Unknown uid") }
    let identity = call.parameters["identityId"]
    let logins = call.logins
    let message = timestamp + logins.map { $0.provider + $0.token }.joined() + (identity ?? "")
    let expected = SampleProtocol.signature(of: message, key: device.key)
    guard Cryptography.areEqual(expected, signature) else {
      throw SampleCall.unauthorized("Error matching signature")
    }
    guard let user = users.existing(device.user), !user.isDisabled,
      let poolID = pool(ofDeveloperAmong: logins.map(\.provider))
    else { throw SampleCall.unauthorized("Unknown user") }
    let token = try sampleToken(
      poolID, identity: identity, logins: logins, device: device, fault: fault, at: now)
    return try SampleProtocol.encrypted(token, key: device.key, vector: vector())
  }

  /// The first pool, by id, with one of these developer providers; else the sandbox's first pool.
  private func pool(ofDeveloperAmong providers: [String]) -> String? {
    let pools = pools.values.filter { $0.developerProvider.map(providers.contains) ?? false }
    return pools.map(\.id).min() ?? defaultPool
  }

  /// The token in the sample's form, with the comma because of which it is not JSON.
  private mutating func sampleToken(
    _ poolID: String, identity: String?, logins: [(provider: String, token: String)],
    device: DeviceDirectory.Device, fault: Fault.Kind?, at now: Date
  ) throws(ServiceError) -> String {
    let provider = try pool(poolID).developerProvider
    guard logins.contains(where: { $0.provider == provider && $0.token == device.user }) else {
      throw SampleCall.unauthorized("User mismatch for device and logins map")
    }
    let others = logins.filter { $0.provider != provider }
    let call = TokenCallback(
      pool: poolID, user: device.user, identity: identity,
      logins: Dictionary(others.map { ($0.provider, $0.token) }) { first, _ in first })
    let output: [String: JSON]
    do {
      output = try vouch(for: call, fault: fault, at: now)
    } catch {
      throw ServiceError(status: 500, error.code, "Error getting token")
    }
    let shownPool = fault == .wrongPool ? SandboxState.strangePool : poolID
    return "{\"identityPoolId\": \"\(shownPool)\", "
      + "\"identityId\": \"\(output["IdentityId"]?.text ?? "")\", "
      + "\"token\": \"\(output["Token"]?.text ?? "")\",}"
  }

  private mutating func vector() -> [UInt8] {
    (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }
}

/// The cryptography of the developer-authentication sample: HMAC-SHA256 signatures in hexadecimal
/// and AES-128-CBC replies.
enum SampleProtocol {
  static let defaultAppName = "awscognitodeveloperauthenticationsample"
  /// How far a timestamp may be off, in seconds.
  static let tolerance = 900.0

  /// Lower-case hexadecimal HMAC-SHA256; key and message are UTF-8 texts.
  static func signature(of message: String, key: String) -> String {
    hexadecimal(Cryptography.hmacSHA256(key: Array(key.utf8), message: Array(message.utf8)))
  }

  /// The value that the server stores instead of the password.
  static func salted(
    _ password: String, user: String, app: String = defaultAppName, host: String
  ) -> String {
    signature(of: user + app.lowercased() + host.lowercased(), key: password)
  }

  /// The reply body: base64 of the initialization vector and the ciphertext.
  ///
  /// - Parameters:
  ///   - key: 32 hexadecimal digits or more; the first 32 count.
  ///   - vector: 16 bytes.
  static func encrypted(
    _ text: String, key: String, vector: [UInt8]
  ) throws(ServiceError) -> String {
    do {
      let sealed = try Cryptography.encryptAES128CBC(
        Array(text.utf8), key: bytes(ofHexadecimal: key.prefix(32)), iv: vector)
      return base64(vector + sealed)
    } catch {
      throw ServiceError(status: 500, "InternalError", "the reply cannot be encrypted")
    }
  }

  /// The plain text of a login's reply, with the sample's own tab.
  static func keyReply(_ key: String) -> String { "{\t\"key\": \"\(key)\"}" }

  static func bytes(ofHexadecimal text: some StringProtocol) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map {
      UInt8(digits[$0] << 4 | digits[$0 + 1])
    }
  }
}

/// The devices that signed in at the sample server: uid → user and key.
struct DeviceDirectory: Sendable {
  struct Device: Sendable {
    var user: String
    /// 32 hexadecimal digits. A new login makes a new key, and voids the earlier one.
    var key: String
  }

  static let maximumDevices = 100_000

  private var devices: [String: Device] = [:]

  subscript(_ uid: String) -> Device? { devices[uid] }

  mutating func store(_ device: Device, as uid: String) throws(ServiceError) {
    guard devices[uid] != nil || devices.count < DeviceDirectory.maximumDevices else {
      throw ServiceError(status: 500, "LimitExceeded", "too many devices")
    }
    devices[uid] = device
  }

  /// Forgets the devices of a user, and returns their number.
  mutating func revoke(user: String) -> Int {
    let before = devices.count
    devices = devices.filter { $0.value.user != user }
    return before - devices.count
  }
}
