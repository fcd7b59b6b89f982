internal import CLinux
internal import CredCore
internal import CredService

extension SessionLog {
  /// The content of a file.
  struct Loaded {
    var records: [SessionKey: SessionRecord] = [:]
    var devices: [UInt32: RememberedDevices] = [:]
    /// The number of records, or parts of records, that could not be read; they are wiped.
    var damaged = 0
    /// The reason why the first complete record was refused.
    var reason: SnapshotError?
  }

  /// The key for a uid's remembered devices, among the keys of its sessions: no profile has an
  /// empty name.
  static func devices(of uid: UInt32) -> SessionKey { SessionKey(uid: uid, profile: "") }

  /// Bytes of one read, in which the largest record fits.
  private static let window = Int64((1 << 20) + StoredRecord.longest)

  /// Reads all records. Wipes damaged ones and older ones of the same session.
  func load() throws(SystemError) -> Loaded {
    var loaded = Loaded()
    var from = StoreHeader.recordsBegin
    var (begin, stop): (Int64, Int64) = (0, 0)
    while unsafe try SystemError.check(
      credd_next_data(descriptor, from, &begin, &stop), "read the session store") == 1
    {
      try load(from: begin, to: stop, &loaded)
      from = stop
      skip(to: stop)
    }
    return loaded
  }

  /// Loads a range without holes. No record crosses its end.
  private func load(from begin: Int64, to stop: Int64, _ loaded: inout Loaded) throws(SystemError) {
    var base = begin
    var gap: Int64?
    while base < stop {
      let bytes = try Self.read(min(Self.window, stop - base), at: base, from: descriptor)
      guard !bytes.isEmpty else { return }
      let isLast = base + Int64(bytes.count) >= stop
      var offset = 0
      search: while true {
        let finding = StoredRecord.find(
          in: bytes, at: offset, marker: header.marker, isLast: isLast)
        switch finding {
        case .damage:
          if gap == nil { loaded.damaged += 1 }
          gap = gap ?? base + Int64(offset)
          offset += 8
        case .empty: offset += 8
        case .record(let record):
          try close(&gap, at: base + Int64(offset))
          try take(record, bytes, at: base + Int64(offset), &loaded)
          offset += StoredRecord.frameBytes(payload: record.payload.count)
        // The window is larger than any record, so this is never at the window's beginning.
        case .incomplete: break search
        case .end: break search
        }
      }
      base += Int64(max(offset, 8))
    }
    try close(&gap, at: stop)
  }

  private func close(_ gap: inout Int64?, at end: Int64) throws(SystemError) {
    guard let begin = gap.take() else { return }
    try wipe(Extent(offset: begin, bytes: end - begin))
  }

  private func take(
    _ stored: StoredRecord, _ bytes: [UInt8], at offset: Int64, _ loaded: inout Loaded
  ) throws(SystemError) {
    let extent = Extent(
      offset: offset, bytes: Int64(StoredRecord.frameBytes(payload: stored.payload.count)))
    let record: SessionRecord
    do throws(SnapshotError) {
      if let (uid, devices) = try RememberedDevices.read(bytes[stored.payload]) {
        let key = Self.devices(of: uid)
        if let before = extents[key] { try? wipe(before) }
        self.record(key, extent, stored.sequence)
        loaded.devices[uid] = devices
        return
      }
      record = try SessionRecord(reading: bytes[stored.payload])
    } catch {
      loaded.damaged += 1
      loaded.reason = loaded.reason ?? error
      return try wipe(extent)
    }
    let key = SessionKey(uid: record.uid, profile: record.profile)
    // Records are appended, so the later one is newer.
    if let before = extents[key] { try wipe(before) }
    self.record(key, extent, stored.sequence)
    loaded.records[key] = record
  }
}
