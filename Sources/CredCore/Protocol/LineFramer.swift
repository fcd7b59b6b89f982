/// Cuts a byte stream into request lines.
///
/// A line within one chunk is returned as a range of the chunk, without a copy. Only an unfinished
/// line is kept, and each byte is examined once, however small the chunks.
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
  /// The next part of a chunk.
  public enum Step: Sendable, Equatable {
    /// A whole line: its range in the chunk, without the newline.
    case line(Range<Int>)
    /// A line that began in an earlier chunk.
    case joined([UInt8])
    /// The chunk has no further line.
    case needsMore
    /// A line is over the limit. Every later step also returns this, because the start of the next
    /// line is unknown.
    case tooLarge
  }

  private let limit: Int
  /// The beginning of a line, in pieces. A single growing array would be copied again and again,
  /// which takes 1 ms for the longest line; pieces take 12 µs.
  private var pieces: [[UInt8]] = []
  /// Bytes of the unfinished line.
  public private(set) var partialBytes = 0
  private var isOverLimit = false

  /// - Parameter limit: the most bytes of a line without its newline.
  public init(limit: Int = Limits.Line.bytes) {
    self.limit = limit
  }

  /// Whether a line is unfinished. ``Limits/Line/time`` limits the time of that.
  public var holdsPartialLine: Bool { partialBytes > 0 }

  /// The next line of the chunk at or after `position`; `position` moves after the line. Lines with
  /// only spaces, tabs and carriage returns are skipped.
  ///
  /// - Parameter newline: returns the position of the next newline, or the chunk's end.
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

  /// The last line of a stream, if it has no newline: `printf '{}' | nc -N` is a request.
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

  /// Bytes are added to the last piece up to this size. Further bytes start a new piece.
  private static let mergedBytes = 4 << 10

  /// The unfinished line, now finished; nil if it is blank.
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

  /// The position of the next newline, or the chunk's end.
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
