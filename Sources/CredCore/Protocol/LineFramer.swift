/// Cuts a byte stream into request lines.
///
/// A line that lies within one chunk is handed out as a range of it, uncopied. Only what is left
/// over at the end of a chunk is kept, and each byte is looked at once, however small the chunks.
///
/// ```swift
/// var position = 0
/// reading: while true {
///   switch framer.next(in: chunk, from: &position) {
///   case .line(let range): answer(chunk.extracting(range))
///   case .joined(let line): answer(line.span)
///   case .needsMore: break reading
///   case .tooLarge: refuse(.requestTooLarge); break reading
///   }
/// }
/// ```
public struct LineFramer: Sendable, Redacted {
  /// What comes next in a chunk.
  public enum Step: Sendable, Equatable {
    /// A whole line: where it stands in the chunk, its newline left out.
    case line(Range<Int>)
    /// A line that began in an earlier chunk.
    case joined([UInt8])
    /// The chunk is used up.
    case needsMore
    /// A line is over the limit. The stream is lost: every later step says the same.
    case tooLarge
  }

  private let limit: Int
  /// The beginning of a line. In pieces: an array that grows is copied over and over, which takes
  /// 1 ms for a line at the limit; its pieces take 12 µs.
  private var pieces: [[UInt8]] = []
  /// Bytes kept of a line that has begun and not ended.
  public private(set) var partialBytes = 0
  private var isOverLimit = false

  /// - Parameter limit: bytes of a line without its newline.
  public init(limit: Int = Limits.Line.bytes) {
    self.limit = limit
  }

  /// Whether a line has begun and not ended: its time is limited.
  public var holdsPartialLine: Bool { partialBytes > 0 }

  /// The next line of the chunk at or after `position`, which moves behind it. Lines of nothing but
  /// spaces, tabs and carriage returns are passed over.
  ///
  /// - Parameter newline: finds the next newline at or after a place, or else the chunk's end.
  public mutating func next(
    in chunk: borrowing Span<UInt8>, from position: inout Int,
    newline: (borrowing Span<UInt8>, Int) -> Int = newline
  ) -> Step {
    while !isOverLimit, position < chunk.count {
      let start = position
      let end = newline(chunk, start)
      guard partialBytes + (end - start) <= limit else {
        drop()
        break
      }
      guard end < chunk.count else {
        keep(chunk, start..<end)
        position = end
        break
      }
      position = end + 1
      if !holdsPartialLine {
        guard Self.isBlank(chunk, start..<end) else { return .line(start..<end) }
      } else {
        keep(chunk, start..<end)
        if let line = takeKept() { return .joined(line) }
      }
    }
    return isOverLimit ? .tooLarge : .needsMore
  }

  /// The last line of a stream whose sender did not end it: `printf '{}' | nc -N` means a request.
  public mutating func finish() -> [UInt8]? {
    takeKept()
  }

  private mutating func drop() {
    isOverLimit = true
    pieces = []
    partialBytes = 0
  }

  private mutating func keep(_ chunk: borrowing Span<UInt8>, _ range: Range<Int>) {
    partialBytes += range.count
    guard let last = pieces.last?.count, last + range.count <= Self.mergedBytes else {
      return pieces.append(chunk.extracting(range).copied)
    }
    for index in range { pieces[pieces.count - 1].append(chunk[index]) }
  }

  /// Up to how many bytes what comes is added to the last piece. What goes beyond is a piece itself.
  private static let mergedBytes = 4 << 10

  /// The kept bytes, unless they are blank.
  private mutating func takeKept() -> [UInt8]? {
    var line = pieces.first ?? []
    if pieces.count > 1 {
      line.reserveCapacity(partialBytes)
      for piece in pieces.dropFirst() { line += piece }
    }
    pieces = []
    partialBytes = 0
    return Self.isBlank(line.span, 0..<line.count) ? nil : line
  }

  /// Where the next newline stands; the chunk's end where there is none.
  public static func newline(in chunk: borrowing Span<UInt8>, from start: Int) -> Int {
    var index = start
    while index < chunk.count, chunk[index] != UInt8(ascii: "\n") { index += 1 }
    return index
  }

  private static func isBlank(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Bool {
    for index in range {
      switch bytes[index] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): continue
      default: return false
      }
    }
    return true
  }
}
