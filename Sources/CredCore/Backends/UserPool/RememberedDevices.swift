/// The devices of one uid that user pools remember. They outlive a logout, so that the next sign-in
/// needs no second factor. They are as secret as passwords.
public struct RememberedDevices: Sendable, Equatable {
  /// The owner of a device. Another person with the uid, another pool or another app client does
  /// not get it.
  public struct Owner: Sendable, Equatable {
    public let person: SessionOwner
    public let issuer: ProviderIssuer
    /// The immutable user name in the pool.
    public let username: String

    public init(person: SessionOwner, issuer: ProviderIssuer, username: String) {
      self.person = person
      self.issuer = issuer
      self.username = username
    }

    public static func == (one: Owner, other: Owner) -> Bool {
      one.person == other.person && one.issuer == other.issuer
        && one.username.utf8.elementsEqual(other.username.utf8)
    }
  }

  fileprivate struct Entry: Sendable, Equatable {
    let owner: Owner
    let device: DeviceSecret
    /// Whether sign-ins use the device. If not, the user may still agree to have it remembered.
    var isUsed: Bool
  }

  /// The oldest comes first.
  private var entries: [Entry] = []

  public init() {}

  public var isEmpty: Bool { entries.isEmpty }

  /// The device of an owner, whether or not sign-ins use it.
  public func known(of owner: Owner) -> DeviceSecret? {
    entries.last { $0.owner == owner }?.device
  }

  /// The devices of a person that sign-ins at a pool use, each with the immutable name of its user
  /// there.
  public func devices(
    of person: SessionOwner, at issuer: ProviderIssuer
  ) -> [(username: String, device: DeviceSecret)] {
    entries.filter { $0.isUsed && $0.owner.person == person && $0.owner.issuer == issuer }
      .map { ($0.owner.username, $0.device) }
  }

  /// Keeps an owner's device in place of the former one. If there are too many, the oldest is
  /// dropped; unused ones are dropped first.
  public mutating func keep(_ device: DeviceSecret, of owner: Owner, isUsed: Bool = true) {
    forget(owner)
    entries.append(Entry(owner: owner, device: device, isUsed: isUsed))
    while entries.count > Limits.Session.devicesPerUser {
      entries.remove(at: entries.firstIndex { !$0.isUsed } ?? 0)
    }
  }

  /// Whether sign-ins use the owner's device from now on.
  public mutating func use(_ isUsed: Bool, of owner: Owner) {
    for index in entries.indices where entries[index].owner == owner {
      entries[index].isUsed = isUsed
    }
  }

  public mutating func forget(_ owner: Owner) {
    entries.removeAll { $0.owner == owner }
  }

  /// Drops all devices at a pool, of any user name.
  public mutating func forgetAll(of issuer: ProviderIssuer) {
    entries.removeAll { $0.owner.issuer == issuer }
  }

  /// Drops the devices of other persons.
  public mutating func keepOnly(of person: SessionOwner) {
    entries.removeAll { $0.owner.person != person }
  }
}

// MARK: - The stored record

extension RememberedDevices {
  private enum Tag {
    /// The uid, as in a session's record.
    static let uid: UInt8 = 1
    /// The kind of the record. Records of sessions have kinds 1 to 7.
    static let device: UInt8 = 8
  }

  fileprivate enum DeviceTag {
    static let person: UInt8 = 1
    static let pool: UInt8 = 2
    static let clientID: UInt8 = 3
    static let endpoint: UInt8 = 4
    static let username: UInt8 = 5
    static let key: UInt8 = 6
    static let groupKey: UInt8 = 7
    static let password: UInt8 = 8
    /// Omitted if sign-ins use the device.
    static let isUnused: UInt8 = 9
  }

  /// The stored bytes. They hold secrets.
  public func encoded(of uid: UInt32) -> [UInt8] {
    var writer = SnapshotWriter(capacity: 1024)
    writer.field(Tag.uid, UInt64(uid))
    for entry in entries {
      writer.group(Tag.device) { entry.write(to: &$0) }
    }
    return writer.bytes
  }

  /// Reads ``encoded(of:)``; nil for the record of a session.
  public static func read(
    _ bytes: ArraySlice<UInt8>
  ) throws(SnapshotError) -> (uid: UInt32, devices: RememberedDevices)? {
    var fields = SnapshotReader(bytes)
    var uid: UInt64?
    var devices = RememberedDevices()
    while let field = try fields.next() {
      switch field.tag {
      case Tag.uid: uid = try field.word("uid")
      case Tag.device:
        guard devices.entries.count < Limits.Session.devicesPerUser else {
          throw .tooLong("devices")
        }
        devices.entries.append(try Entry(reading: field.fields))
      default: break
      }
    }
    guard !devices.isEmpty else { return nil }
    guard let uid = uid.flatMap({ UInt32(exactly: $0) }) else { throw .invalid("uid") }
    return (uid, devices)
  }
}

extension RememberedDevices.Entry {
  private typealias Tag = RememberedDevices.DeviceTag

  fileprivate func write(to writer: inout SnapshotWriter) {
    // The name, as in a session's record; empty for a uid without a name.
    if owner.person != .unknown { writer.field(Tag.person, owner.person.name ?? "") }
    writer.field(Tag.pool, owner.issuer.pool?.description)
    writer.field(Tag.clientID, owner.issuer.clientID)
    writer.field(Tag.endpoint, owner.issuer.url)
    writer.field(Tag.username, owner.username)
    writer.field(Tag.key, device.key)
    writer.field(Tag.groupKey, device.groupKey)
    writer.field(Tag.password, device.password)
    if !isUsed { writer.field(Tag.isUnused, UInt64(1)) }
  }

  fileprivate init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var texts: [UInt8: String] = [:]
    var password: Secret?
    var isUsed = true
    while let field = try fields.next() {
      switch field.tag {
      case Tag.isUnused: isUsed = try field.word("device") == 0
      case Tag.person...Tag.groupKey: texts[field.tag] = try field.text("device")
      case Tag.password: password = try field.secret("device's password")
      default: break
      }
    }
    guard let pool = texts[Tag.pool].flatMap({ try? UserPoolID($0) }),
      let clientID = texts[Tag.clientID], let endpoint = texts[Tag.endpoint],
      let username = texts[Tag.username], let key = texts[Tag.key],
      let groupKey = texts[Tag.groupKey], let password
    else { throw .missing("device") }
    let person: SessionOwner =
      texts[Tag.person].map { SessionOwner(name: $0.isEmpty ? nil : $0) } ?? .unknown
    let issuer = ProviderIssuer(pool: pool, clientID: clientID, url: endpoint)
    owner = RememberedDevices.Owner(person: person, issuer: issuer, username: username)
    device = DeviceSecret(key: key, groupKey: groupKey, password: password)
    self.isUsed = isUsed
  }
}
