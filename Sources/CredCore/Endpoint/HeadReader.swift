/// Reads the head of an HTTP request, line by line.
///
/// Any user may connect to a port on loopback. So the reader refuses what two readers could understand
/// differently: a folded field, a line without CR, white space before a colon. It refuses an error at the
/// first byte that shows it.
struct HeadReader: Sendable, Redacted {
  /// What a line says.
  enum Part {
    case requestLine([UInt8])
    /// The name is in lower case. The value has no white space round it.
    case field(name: [UInt8], value: [UInt8])
    /// The empty line, which ends the head.
    case end
  }

  private let mostBytes: Int
  private let mostFields: Int
  /// Whether a value may contain tabs.
  private let takesTabs: Bool
  /// The bytes of the present line so far.
  private var line: [UInt8] = []
  private var endsWithCR = false
  /// The bytes of the present head so far.
  private(set) var bytes = 0
  /// The fields of the present head so far; nil until its request line has ended.
  private var fields: Int?

  init(mostBytes: Int, mostFields: Int, takesTabs: Bool) {
    self.mostBytes = mostBytes
    self.mostFields = mostFields
    self.takesTabs = takesTabs
  }

  var description: String { "<head of a request>" }

  /// Reads up to the end of a line, and moves `position` after the bytes that it has read.
  ///
  /// - Parameter checkStart: checks the request line so far, after each of its bytes.
  /// - Returns: what the line says; nil if it has not ended.
  mutating func next(
    in chunk: borrowing Span<UInt8>, from position: inout Int,
    checkStart: ([UInt8]) throws(EndpointRefusal) -> Void
  ) throws(EndpointRefusal) -> Part? {
    while position < chunk.count {
      let byte = chunk[position]
      position += 1
      if byte == UInt8(ascii: "\n") { return try endLine() }
      try take(byte)
      if fields == nil { try checkStart(line) }
    }
    return nil
  }

  private mutating func take(_ byte: UInt8) throws(EndpointRefusal) {
    try count()
    guard !endsWithCR else { throw .lineEnd }
    endsWithCR = byte == UInt8(ascii: "\r")
    let isText = byte >= 0x20 && byte != 0x7F || endsWithCR
    guard isText || byte == UInt8(ascii: "\t") && takesTabs else { throw .controlByte }
    line.append(byte)
  }

  private mutating func count() throws(EndpointRefusal) {
    bytes += 1
    guard bytes <= mostBytes else { throw .headTooLong }
  }

  private mutating func endLine() throws(EndpointRefusal) -> Part {
    try count()
    guard endsWithCR else { throw .lineEnd }
    endsWithCR = false
    line.removeLast()
    defer { line.removeAll(keepingCapacity: true) }
    guard let fields else {
      self.fields = 0
      return .requestLine(line)
    }
    guard !line.isEmpty else {
      bytes = 0
      self.fields = nil
      return .end
    }
    guard fields < mostFields else { throw .tooManyFields }
    self.fields = fields + 1
    return try field()
  }

  private func field() throws(EndpointRefusal) -> Part {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { throw .field }
    let name = line[..<colon].map { $0.isUppercase ? $0 | 0x20 : $0 }
    // A name contains no white space, neither before the colon nor at the start of a folded line.
    guard name.allSatisfy(\.isTokenByte) else { throw .field }
    return .field(name: name, value: Array(line[(colon + 1)...].trimmedOfBlanks))
  }
}

extension UInt8 {
  var isUppercase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }

  /// Whether the byte is allowed in a header's name: `tchar` of RFC 9110 §5.6.2.
  fileprivate var isTokenByte: Bool { isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
