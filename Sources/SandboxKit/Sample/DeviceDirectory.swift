/// The devices that signed in at the sample server: uid → user and key.
struct DeviceDirectory: Sendable {
  struct Device: Sendable {
    var user: String
    /// 32 hexadecimal digits. A new login makes a new one, which voids the earlier.
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

  /// How many devices were forgotten.
  mutating func revoke(user: String) -> Int {
    let before = devices.count
    devices = devices.filter { $0.value.user != user }
    return before - devices.count
  }
}
