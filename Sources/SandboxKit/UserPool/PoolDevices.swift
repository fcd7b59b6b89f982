import FoundationEssentials

/// A device of a user.
struct PoolDevice: Sendable {
  let key: String
  let group: String
  var name: String?
  /// nil until the client has confirmed the device.
  var verifier: SRPVerifier?
  var isRemembered = false
  let created: Date
  var modified: Date
  var lastAuthenticated: Date

  var isConfirmed: Bool { verifier != nil }

  var json: JSON {
    let attributes = [
      ("device_status", "valid"), ("device_name", name ?? ""), ("last_ip_used", "127.0.0.1"),
      ("dev:device_remembered_status", isRemembered ? "remembered" : "not_remembered"),
    ]
    return [
      "DeviceKey": .string(key),
      "DeviceAttributes": .array(
        attributes.map { ["Name": .string($0.0), "Value": .string($0.1)] }),
      "DeviceCreateDate": .timestamp(created.timeIntervalSince1970.rounded(.down)),
      "DeviceLastModifiedDate": .timestamp(modified.timeIntervalSince1970.rounded(.down)),
      "DeviceLastAuthenticatedDate": .timestamp(
        lastAuthenticated.timeIntervalSince1970.rounded(.down)),
    ]
  }
}

/// ConfirmDevice, GetDevice, ListDevices, UpdateDeviceStatus and ForgetDevice.
extension UserPool {
  mutating func newDevice(of username: String) throws(ServiceError) -> PoolDevice {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let device = PoolDevice(
      key: region + "_" + random.uuid(), group: "-" + random.text(8, of: letters), created: now,
      modified: now, lastAuthenticated: now)
    try change(username) { user throws(ServiceError) in
      // Devices that were never confirmed are dropped first.
      if user.devices.count >= UserPool.maximumDevicesPerUser {
        user.devices = user.devices.filter(\.value.isConfirmed)
      }
      guard user.devices.count < UserPool.maximumDevicesPerUser else {
        throw ServiceError("LimitExceededException", "The user has too many devices.")
      }
      user.devices[device.key] = device
    }
    return device
  }

  mutating func confirmDevice(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let key = try input.text("DeviceKey", .deviceKey)
    let name = try input.optionalText("DeviceName", .deviceName)
    let config = input.value("DeviceSecretVerifierConfig")
    try input.finish()
    guard settings.devices != .off else {
      throw ServiceError(
        "InvalidUserPoolConfigurationException", "Device tracking is off in this user pool.")
    }
    guard let device = holder.devices[key] else { throw .unknownDevice }
    guard !device.isConfirmed else {
      throw ServiceError("DeviceKeyExistsException", "The device is already confirmed.")
    }
    guard Set(config?.members?.keys ?? [:].keys) == ["PasswordVerifier", "Salt"],
      let salt = UserPool.number(config?["Salt"], most: 17),
      let verifier = UserPool.number(config?["PasswordVerifier"], most: 385)
    else { throw .poolInvalid("Invalid device secret verifier config given.") }
    let (isRemembered, now) = (settings.devices == .always, now)
    try change(holder.username) { user throws(ServiceError) in
      user.devices[key]?.verifier = SRPVerifier(salt: salt, verifier: verifier)
      user.devices[key]?.name = name
      user.devices[key]?.isRemembered = isRemembered
      user.devices[key]?.modified = now
    }
    return ["UserConfirmationNecessary": .bool(settings.devices == .optIn)]
  }

  /// Reads base64 of a padded number, and accepts no other form.
  private static func number(_ json: JSON?, most: Int) -> Natural? {
    guard let text = json?.text, let data = Data(base64Encoded: text), data.count <= most else {
      return nil
    }
    let number = Natural(Array(data))
    return !number.isZero && number.padded == Array(data) ? number : nil
  }

  func getDevice(_ input: CognitoInput, of holder: PoolUser) throws(ServiceError) -> JSON {
    ["Device": try device(input, of: holder).json]
  }

  private func device(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> PoolDevice {
    var input = input
    let key = try input.text("DeviceKey", .deviceKey)
    try input.finish()
    guard let device = holder.devices[key], device.isConfirmed else { throw .unknownDevice }
    return device
  }

  mutating func forgetDevice(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON? {
    let key = try device(input, of: holder).key
    try change(holder.username) { user throws(ServiceError) in user.devices[key] = nil }
    return nil
  }

  func listDevices(_ input: CognitoInput, of holder: PoolUser) throws(ServiceError) -> JSON {
    var input = input
    let limit = try input.optionalInteger("Limit", in: 0...60) ?? 60
    let token = try input.optionalText("PaginationToken", .anyText)
    try input.finish()
    let all = holder.devices.values.filter(\.isConfirmed).sorted { $0.key < $1.key }
    let rest = all.filter { token == nil || $0.key > (token ?? "") }
    let page = rest.prefix(limit == 0 ? 60 : limit)
    var reply: [String: JSON] = ["Devices": .array(page.map(\.json))]
    if rest.count > page.count, let last = page.last {
      reply["PaginationToken"] = .string(last.key)
    }
    return .object(reply)
  }

  mutating func updateDevice(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let key = try input.text("DeviceKey", .deviceKey)
    let status = try input.optionalText("DeviceRememberedStatus", .anyText)
    try input.finish()
    guard let status, ["remembered", "not_remembered"].contains(status) else {
      throw .poolInvalid("DeviceRememberedStatus must be remembered or not_remembered.")
    }
    guard holder.devices[key]?.isConfirmed == true else { throw .unknownDevice }
    let now = now
    try change(holder.username) { user throws(ServiceError) in
      user.devices[key]?.isRemembered = status == "remembered"
      user.devices[key]?.modified = now
    }
    return [:]
  }
}
