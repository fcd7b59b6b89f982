internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Sessions in a file in memory, as a log of records: credd appends a session's new record, then
/// overwrites the old one with zeros.
///
/// When most of the file is zeros, each append moves a few of the oldest records to the end and
/// frees their pages. So the file takes little more memory than its sessions, and no long pause is
/// needed. Offsets only grow; 2^63 bytes suffice.
final class SessionLog {
  struct Extent: Equatable {
    let offset: Int64
    /// The bytes of the frame.
    let bytes: Int64
  }

  /// Records are moved when the zeros exceed the records by this many bytes.
  static let slack: Int64 = 1 << 20
  /// Records moved at one append, so that no event takes long.
  static let movesAtOnce = 4

  private static let page = Int64(sysconf(Int32(_SC_PAGESIZE)))

  let descriptor: Int32
  let header: StoreHeader
  /// The most bytes of all records; smaller in tests.
  var limit = Int64(Limits.Store.bytes)
  private(set) var extents: [SessionKey: Extent] = [:]
  /// Records in the order of the file; an entry is skipped if its session has a later record.
  private var order: [(key: SessionKey, offset: Int64)] = []
  private var oldest = 0
  /// The file is empty before this offset.
  private var begin = StoreHeader.recordsBegin
  private var end = StoreHeader.recordsBegin
  private var sequence: UInt64 = 0
  /// Bytes of all records.
  private(set) var liveBytes: Int64 = 0

  /// Takes ownership of `descriptor` and uses its content: see ``load()``.
  init(descriptor: Int32, header: StoreHeader) {
    self.descriptor = descriptor
    self.header = header
  }

  /// Creates a new file.
  convenience init(boot: [UInt8]?, generation: UInt64 = 1) throws(SystemError) {
    var random = SystemRandomNumberGenerator()
    let header = StoreHeader(boot: boot, generation: generation, marker: random.next())
    let created = try SystemError.check(
      unsafe credd_memfd("credd-sessions"), "create the session store")
    self.init(descriptor: created, header: header)
    try Self.write(header.encoded, at: 0, to: created)
  }

  deinit {
    credd_close(descriptor)
  }

  /// The bytes from the first record to the last.
  var span: Int64 { end - (order.indices.contains(oldest) ? order[oldest].offset : end) }

  // MARK: Writing

  /// Writes a session's record and wipes the old one.
  ///
  /// - Throws: if the record could not be written. The old record is wiped in any case, because it
  ///   is out of date.
  func put(_ payload: [UInt8], for key: SessionKey) throws(SystemError) {
    let before = extents[key]
    do throws(SystemError) {
      guard payload.count <= Limits.Store.sessionBytes else {
        throw SystemError("store a session of \(payload.count) bytes", number: EMSGSIZE)
      }
      guard liveBytes + Int64(payload.count) <= limit else {
        throw SystemError("store more than \(limit) bytes of sessions", number: ENOSPC)
      }
      try append(payload, key)
    } catch {
      remove(key)
      throw error
    }
    if let before { try wipe(before) }
    // A record that cannot be moved stays where it is.
    try? moveOldest()
  }

  /// Wipes a session's record, if there is one.
  func remove(_ key: SessionKey) {
    guard let extent = extents.removeValue(forKey: key) else { return }
    liveBytes -= extent.bytes
    credd_wipe_at(descriptor, extent.offset, extent.bytes)
    advance()
  }

  private func append(_ payload: [UInt8], _ key: SessionKey) throws(SystemError) {
    sequence += 1
    let frame = StoredRecord.frame(payload, sequence: sequence, marker: header.marker)
    do throws(SystemError) {
      try Self.write(frame, at: end, to: descriptor)
    } catch {
      credd_wipe_at(descriptor, end, Int64(frame.count))
      throw error
    }
    record(key, Extent(offset: end, bytes: Int64(frame.count)), sequence)
  }

  /// Records where the newest record lies of a session.
  func record(_ key: SessionKey, _ extent: Extent, _ sequence: UInt64) {
    if let before = extents.updateValue(extent, forKey: key) { liveBytes -= before.bytes }
    liveBytes += extent.bytes
    order.append((key, extent.offset))
    end = max(end, extent.offset + extent.bytes)
    self.sequence = max(self.sequence, sequence)
  }

  /// Puts later records after this offset.
  func skip(to offset: Int64) {
    end = max(end, (offset + 7) & ~7)
  }

  func wipe(_ extent: Extent) throws(SystemError) {
    try SystemError.check(
      credd_wipe_at(descriptor, extent.offset, extent.bytes), "wipe a stored session")
  }

  /// Wipes a whole store that is no longer used.
  static func wipeAll(of descriptor: Int32) {
    var (from, begin, end): (Int64, Int64, Int64) = (0, 0, 0)
    while unsafe credd_next_data(descriptor, from, &begin, &end) == 1 {
      credd_wipe_at(descriptor, begin, end - begin)
      from = end
    }
  }

  // MARK: Moving

  private func moveOldest() throws(SystemError) {
    advance()
    var moves = 0
    while moves < Self.movesAtOnce, span > 2 * liveBytes + Self.slack, oldest < order.count {
      let key = order[oldest].key
      guard let extent = extents[key] else { break }
      let frame = try Self.read(extent.bytes, at: extent.offset, from: descriptor)
      guard
        case .record(let record) = StoredRecord.find(
          in: frame, at: 0, marker: header.marker, isLast: true)
      else { throw SystemError("move a stored session", number: EIO) }
      try append(Array(frame[record.payload]), key)
      try wipe(extent)
      advance()
      moves += 1
    }
  }

  /// Advances to the oldest record that is still in use.
  private func advance() {
    while oldest < order.count, extents[order[oldest].key]?.offset != order[oldest].offset {
      oldest += 1
    }
    // Pages that several records shared can be freed only now.
    let first = end - span
    credd_punch(descriptor, begin, first / Self.page * Self.page - begin)
    begin = max(begin, first / Self.page * Self.page)
    guard oldest > 1024, oldest > order.count / 2 else { return }
    order.removeFirst(oldest)
    oldest = 0
  }

  // MARK: Bytes

  static func write(_ bytes: [UInt8], at offset: Int64, to descriptor: Int32) throws(SystemError) {
    let result = unsafe bytes.withUnsafeBytes {
      unsafe credd_write_at(descriptor, $0.baseAddress, $0.count, offset)
    }
    try SystemError.check(result, "write to the session store")
  }

  /// Returns fewer bytes than requested only at the end of the file.
  static func read(
    _ count: Int64, at offset: Int64, from descriptor: Int32
  ) throws(SystemError) -> [UInt8] {
    var result = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, filled in
      result = unsafe credd_read_at(descriptor, buffer.baseAddress, buffer.count, offset)
      filled = max(result, 0)
    }
    try SystemError.check(result, "read the session store")
    return bytes
  }
}
