import FoundationEssentials

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
    // A user of the seed never registered under a host name: whichever is used will do.
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
    guard let user = users.existing(device.user), !user.isDisabled, let poolID = defaultPool else {
      throw SampleCall.unauthorized("Unknown user")
    }
    let token = try sampleToken(
      poolID, identity: identity, logins: logins, device: device, fault: fault, at: now)
    return try SampleProtocol.encrypted(token, key: device.key, vector: vector())
  }

  /// The token as the sample spells it, with the comma that makes it no JSON.
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
