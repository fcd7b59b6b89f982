/// Devices that the pool remembers for a user.
extension UserPoolClient {
  /// ConfirmDevice: the pool knows the device from then on.
  ///
  /// - Parameter name: this host's name, for the user.
  /// - Throws: if Cognito would refuse the key or the name.
  public func confirmDevice(
    accessToken: Secret, key: String, _ verifier: DeviceVerifier, name: String
  ) throws(InvalidInput) -> HTTPRequest {
    let key = try DeviceKey.checked(key)
    _ = try UserPoolInput.text(Secret(name), "name", 1...Limits.UserPool.deviceNameLength)
    return userRequest(.confirmDevice, accessToken) {
      $0.field("DeviceKey", key)
      $0.field("DeviceSecretVerifierConfig") { writer in
        writer.field("PasswordVerifier", verifier.passwordVerifier)
        writer.field("Salt", verifier.salt)
      }
      $0.field("DeviceName", name)
    }
  }

  /// Reads the reply to ConfirmDevice.
  ///
  /// - Returns: whether the user must agree that the pool remembers the device.
  public func deviceConfirmed(from reply: HTTPReply) throws(UpstreamFailure) -> Bool {
    try success(reply, .ownAccount, mayBeEmpty: true)["UserConfirmationNecessary"]?.bool ?? false
  }

  /// UpdateDeviceStatus.
  public func updateDevice(
    accessToken: Secret, key: String, isRemembered: Bool
  ) throws(InvalidInput) -> HTTPRequest {
    try deviceRequest(.updateDeviceStatus, accessToken, key) {
      $0.field("DeviceRememberedStatus", isRemembered ? "remembered" : "not_remembered")
    }
  }

  /// ForgetDevice.
  public func forgetDevice(
    accessToken: Secret, key: String
  ) throws(InvalidInput) -> HTTPRequest {
    try deviceRequest(.forgetDevice, accessToken, key)
  }

  private func deviceRequest(
    _ operation: UserPoolOperation, _ accessToken: Secret, _ key: String,
    _ members: (inout JSONWriter) -> Void = { _ in }
  ) throws(InvalidInput) -> HTTPRequest {
    let key = try DeviceKey.checked(key)
    return userRequest(operation, accessToken) {
      $0.field("DeviceKey", key)
      members(&$0)
    }
  }

  /// ListDevices: one page.
  ///
  /// - Parameter token: `next` of the former page.
  public func listDevices(accessToken: Secret, after token: String? = nil) -> HTTPRequest {
    userRequest(.listDevices, accessToken) {
      $0.field("Limit", Int64(Limits.UserPool.devicesOfPage))
      $0.field("PaginationToken", token)
    }
  }

  /// Reads the reply to ListDevices.
  public func devices(from reply: HTTPReply) throws(UpstreamFailure) -> PoolDevicePage {
    let object = try success(reply, .ownAccount)
    return try checked(upstream) { () throws(InvalidInput) in
      var devices: [PoolDevice] = []
      if case .array(let elements)? = object["Devices"] {
        for element in elements { devices.append(try PoolDevice(element)) }
      }
      return PoolDevicePage(devices: devices, next: object["PaginationToken"]?.text)
    }
  }
}

/// A part of a user's devices.
public struct PoolDevicePage: Sendable, Equatable {
  public let devices: [PoolDevice]
  /// Where the next page begins; nil after the last one.
  public let next: String?
}

/// A device in the pool's list.
public struct PoolDevice: Sendable, Equatable {
  public let key: String
  public let name: String?
  public let created: WallTime?
  public let lastUsed: WallTime?
  /// An IP address.
  public let lastAddress: String?
  /// Whether it takes the place of a second factor; nil where the pool does not say.
  public let isRemembered: Bool?

  init(_ object: JSONValue) throws(InvalidInput) {
    key = try DeviceKey.checked(object.requiredText("DeviceKey"))
    created = object["DeviceCreateDate"]?.plausibleTime
    lastUsed = object["DeviceLastAuthenticatedDate"]?.plausibleTime
    let attributes = try NamedSecret.list(in: object, "DeviceAttributes")
    func text(_ name: String) -> String? {
      attributes.first { $0.name == name }.flatMap { RemoteText.plain($0.value.bytes) }
    }
    name = text("device_name")
    lastAddress = text("last_ip_used")
    isRemembered = text("dev:device_remembered_status").map { $0 == "remembered" }
  }
}
