public import AuthCore

/// A device of the sample protocol. It belongs to the user of its first sign-in.
public struct SampleDevice: Sendable, Equatable {
  public var uid: String
  public var identifier: String
  /// 32 hexadecimal digits.
  public var key: String
  public var isRevoked: Bool
  public var created: Timestamp

  public init(
    uid: String, identifier: String, key: String, isRevoked: Bool = false, created: Timestamp
  ) {
    self.uid = uid
    self.identifier = identifier
    self.key = key
    self.isRevoked = isRevoked
    self.created = created
  }
}

extension AuthStore {
  public func device(_ uid: String) async throws -> SampleDevice? {
    let rows = try await database.read { connection in
      try connection.run(
        "SELECT uid, identifier, device_key, revoked, created FROM sample_devices WHERE uid = ?",
        .text(uid))
    }
    return try rows.first.map(Self.device)
  }

  public func devices(of identifier: String) async throws -> [SampleDevice] {
    let rows = try await database.read { connection in
      try connection.run(
        "SELECT uid, identifier, device_key, revoked, created FROM sample_devices "
          + "WHERE identifier = ? ORDER BY created",
        .text(identifier))
    }
    return try rows.map(Self.device)
  }

  private static func device(_ row: SQLRow) throws -> SampleDevice {
    SampleDevice(
      uid: try row.text(0), identifier: try row.text(1), key: try row.text(2),
      isRevoked: try row.integer(3) != 0, created: Timestamp(milliseconds: try row.integer(4)))
  }

  /// Gives a device a new key.
  ///
  /// - Parameter password: what the server keeps of the user's password.
  /// - Returns: false if the device is another user's. Also false if the password was changed, or
  ///   the user disabled, meanwhile.
  public func keep(
    _ device: SampleDevice, password: String, trail: AuditTrail? = nil
  ) async throws -> Bool {
    let lock = database.dialect.forUpdate
    return try await write(trail) { connection in
      guard try Self.isStill(password, of: device.identifier, lock, connection) else {
        return false
      }
      let rows = try connection.run(
        "INSERT INTO sample_devices (uid, identifier, device_key, created, revoked) "
          + "VALUES (?, ?, ?, ?, 0) ON CONFLICT (uid) DO UPDATE SET "
          + "device_key = excluded.device_key, created = excluded.created, revoked = 0 "
          + "WHERE sample_devices.identifier = excluded.identifier RETURNING uid",
        .text(device.uid), .text(device.identifier), .text(device.key),
        .integer(device.created.milliseconds))
      guard !rows.isEmpty else { return false }
      try connection.run(
        "DELETE FROM sample_devices WHERE identifier = ? AND uid NOT IN (SELECT uid FROM "
          + "sample_devices WHERE identifier = ? ORDER BY created DESC, uid LIMIT ?)",
        .text(device.identifier), .text(device.identifier), .integer(Int64(Limits.devicesPerUser)))
      return true
    }
  }

  /// False where there is no such device.
  public func revoke(device uid: String, trail: AuditTrail? = nil) async throws -> Bool {
    try await write(trail) { connection in
      let rows = try connection.run(
        "UPDATE sample_devices SET revoked = 1 WHERE uid = ? RETURNING uid", .text(uid))
      return !rows.isEmpty
    }
  }

  /// False if this user has shown the same signature before: it was replayed.
  public func useSignature(
    _ signature: String, of identifier: String, now: Timestamp
  ) async throws -> Bool {
    try await database.write { connection in
      let rows = try connection.run(
        "INSERT INTO sample_signatures (identifier, signature, time) VALUES (?, ?, ?) "
          + "ON CONFLICT (identifier, signature) DO UPDATE SET time = excluded.time "
          + "WHERE sample_signatures.time < ? RETURNING signature",
        .text(identifier), .text(signature), .integer(now.milliseconds),
        .integer(now.milliseconds - Limits.sampleReplay.milliseconds))
      return !rows.isEmpty
    }
  }
}
