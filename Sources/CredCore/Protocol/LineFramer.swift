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
public struct LineFramer: Sendable, Undisclosed {
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
  private var remainder: [UInt8] = []
  private var isOverLimit = false

  /// - Parameter limit: bytes of a line without its newline.
  public init(limit: Int = Limits.lineBytes) {
    self.limit = limit
  }

  /// Whether a line has begun and not ended: its time is limited.
  public var holdsPartialLine: Bool { !remainder.isEmpty }

  /// Bytes kept of it.
  public var partialBytes: Int { remainder.count }

  /// The next line of the chunk at or after `position`, which moves behind it. Lines of nothing but
  /// spaces, tabs and carriage returns are passed over.
  public mutating func next(in chunk: borrowing Span<UInt8>, from position: inout Int) -> Step {
    while !isOverLimit, position < chunk.count {
      let start = position
      let end = Self.newline(in: chunk, from: start)
      guard remainder.count + (end - start) <= limit else {
        drop()
        break
      }
      guard end < chunk.count else {
        keep(chunk, start..<end)
        position = end
        break
      }
      position = end + 1
      if remainder.isEmpty {
        guard Self.isBlank(chunk, start..<end) else { return .line(start..<end) }
      } else {
        keep(chunk, start..<end)
        if let line = takeRemainder() { return .joined(line) }
      }
    }
    return isOverLimit ? .tooLarge : .needsMore
  }

  /// The last line of a stream whose sender did not end it: `printf '{}' | nc -N` means a request.
  public mutating func finish() -> [UInt8]? {
    takeRemainder()
  }

  private mutating func drop() {
    isOverLimit = true
    remainder = []
  }

  private mutating func keep(_ chunk: borrowing Span<UInt8>, _ range: Range<Int>) {
    for index in range { remainder.append(chunk[index]) }
  }

  /// The kept bytes, unless they are blank.
  private mutating func takeRemainder() -> [UInt8]? {
    let line = remainder
    remainder = []
    return Self.isBlank(line.span, 0..<line.count) ? nil : line
  }

  /// Where the next newline stands; the chunk's end where there is none.
  private static func newline(in chunk: borrowing Span<UInt8>, from start: Int) -> Int {
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
