internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Sessions in a file in memory, as a log of records: a session's new record is appended, then the
/// one before it is overwritten with zeros.
///
/// The oldest records are moved to the end, a few at each append, when most of the file is such
/// zeros: their pages are given back, so the file takes little more memory than the sessions in it,
/// and no pause is needed to tidy it up. Its offsets grow for ever, which 2^63 bytes allow.
final class SessionLog {
  struct Place: Equatable {
    let offset: Int64
    /// Of the frame.
    let bytes: Int64
  }

  /// How much of the file may be zeros before records are moved: as much as there are records, and
  /// this besides.
  static let slack: Int64 = 1 << 20
  /// Records moved at one append, so that no event takes long.
  static let movesAtOnce = 4

  private static let page: Int64 = 4096

  let descriptor: Int32
  let header: StoreHeader
  /// Of all records; smaller in tests.
  var limit = Int64(Limits.Store.bytes)
  private(set) var places: [SessionKey: Place] = [:]
  /// In the order of the file; those whose session has a later record are passed over.
  private var order: [(key: SessionKey, offset: Int64)] = []
  private var oldest = 0
  /// Before it nothing is, and no page.
  private var begin = StoreHeader.recordsBegin
  private var end = StoreHeader.recordsBegin
  private var sequence: UInt64 = 0
  /// Bytes of all records.
  private(set) var liveBytes: Int64 = 0

  /// Takes over `descriptor` with what is in it: see ``load()``.
  init(descriptor: Int32, header: StoreHeader) {
    self.descriptor = descriptor
    self.header = header
  }

  /// A new one, which nobody else has yet.
  convenience init(boot: [UInt8], generation: UInt64 = 1) throws(SystemError) {
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

  /// From the first record to the last.
  var span: Int64 { end - (order.indices.contains(oldest) ? order[oldest].offset : end) }

  // MARK: Writing

  /// Writes a session's record and wipes the one before.
  ///
  /// - Throws: where it could not be written. The one before is wiped all the same: what it says is
  ///   no longer so.
  func put(_ payload: [UInt8], for key: SessionKey) throws(SystemError) {
    let before = places[key]
    do throws(SystemError) {
      guard payload.count <= Limits.Store.sessionBytes else {
        throw SystemError("store a session of \(payload.count) bytes", number: EFBIG)
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
    try moveOldest()
  }

  /// Wipes a session's record, if there is one.
  func remove(_ key: SessionKey) {
    guard let place = places.removeValue(forKey: key) else { return }
    liveBytes -= place.bytes
    credd_wipe_at(descriptor, place.offset, place.bytes)
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
    record(key, Place(offset: end, bytes: Int64(frame.count)), sequence)
  }

  /// Takes a record into account: the newest of its session.
  func record(_ key: SessionKey, _ place: Place, _ sequence: UInt64) {
    if let before = places.updateValue(place, forKey: key) { liveBytes -= before.bytes }
    liveBytes += place.bytes
    order.append((key, place.offset))
    end = max(end, place.offset + place.bytes)
    self.sequence = max(self.sequence, sequence)
  }

  /// Later records go behind this offset.
  func skip(to offset: Int64) {
    end = max(end, (offset + 7) & ~7)
  }

  func wipe(_ place: Place) throws(SystemError) {
    try SystemError.check(
      credd_wipe_at(descriptor, place.offset, place.bytes), "wipe a stored session")
  }

  /// Leaves nothing of a store that is given up.
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
      guard let place = places[key] else { break }
      let frame = try Self.read(place.bytes, at: place.offset, from: descriptor)
      guard
        case .record(let record) = StoredRecord.find(
          in: frame, at: 0, marker: header.marker, isLast: true)
      else { throw SystemError("move a stored session", number: EIO) }
      try append(Array(frame[record.payload]), key)
      try wipe(place)
      advance()
      moves += 1
    }
  }

  /// Goes on to the oldest record that still counts.
  private func advance() {
    while oldest < order.count, places[order[oldest].key]?.offset != order[oldest].offset {
      oldest += 1
    }
    // Pages that several records shared are whole again only now.
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

  /// Fewer bytes than asked for at the end of the file alone.
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
