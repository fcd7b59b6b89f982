import CredCore

/// The second reading of requests to the endpoint: it looks at whole heads, and collects all that is
/// wrong with one, where the reader names the first.
struct SecondEndpoint {
  /// The requests before the first head that is wrong or has no end.
  var requests: [EndpointRequest] = []
  /// What is wrong with that head; empty if there is none, or it has no end.
  var problems: Set<EndpointRefusal> = []

  init(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while let end = Self.endOfHead(rest) {
      var head = SecondHead(Array(rest[rest.startIndex..<end]))
      head.read()
      guard head.problems.isEmpty else {
        problems = head.problems
        return
      }
      requests.append(head.request)
      rest = rest[(end + 4)...]
    }
  }

  private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
    bytes.indices.first { bytes[$0...].starts(with: "\r\n\r\n".utf8) }
  }
}

private struct SecondHead {
  let bytes: [UInt8]
  var request = EndpointRequest()
  var problems: Set<EndpointRefusal> = []
  private var hosts = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func read() {
    let lines = Self.lines(bytes)
    if bytes.count + 4 > 8192 { problems.insert(.headTooLong) }
    if lines.count - 1 > 64 { problems.insert(.tooManyFields) }
    for line in lines {
      if line.contains(0x0D) || line.contains(0x0A) { problems.insert(.lineEnd) }
      if line.contains(where: { $0 < 0x20 || $0 == 0x7F }) { problems.insert(.controlByte) }
    }
    readFirst(lines[0])
    for line in lines.dropFirst() { readField(line) }
    if hosts != 1 { problems.insert(.host) }
  }

  private static func lines(_ bytes: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = [[]]
    var index = 0
    while index < bytes.count {
      if bytes[index...].starts(with: "\r\n".utf8) {
        lines.append([])
        index += 2
      } else {
        lines[lines.count - 1].append(bytes[index])
        index += 1
      }
    }
    return lines
  }

  private mutating func readFirst(_ line: [UInt8]) {
    let words = line.split(separator: 0x20, omittingEmptySubsequences: false).map { Array($0) }
    let method = String(decoding: words[0], as: UTF8.self)
    let isName = method.unicodeScalars.allSatisfy { ("A"..."Z").contains($0) }
    guard words.count > 1, isName, (1...20).contains(method.count) else {
      problems.insert(.notARequest)
      return
    }
    guard method == "GET" else {
      problems.insert(method == "HEAD" ? .head : .method)
      return
    }
    let target = words[1]
    if words.count != 3 || target.first != 0x2F
      || target.contains(where: { $0 < 0x21 || $0 > 0x7E })
    {
      problems.insert(.target)
    }
    if words[words.count - 1] != Array("HTTP/1.1".utf8) { problems.insert(.version) }
    request.target = target
  }

  private mutating func readField(_ line: [UInt8]) {
    let text = line.map { Character(UnicodeScalar($0)) }
    guard let colon = text.firstIndex(of: ":") else {
      problems.insert(.field)
      return
    }
    let name = String(text[..<colon])
    let others = "!#$%&'*+-.^_`|~"
    let isName = name.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber) || others.contains($0)
    }
    guard !name.isEmpty, isName else {
      problems.insert(.field)
      return
    }
    var value = line[(colon + 1)...]
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    take(name.lowercased(), Array(value))
  }

  private mutating func take(_ name: String, _ value: [UInt8]) {
    if let header = Self.foreign(name) {
      request.foreignHeader = request.foreignHeader ?? header
      return
    }
    switch name {
    case "host":
      hosts += 1
      request.host = value
      if value.isEmpty { problems.insert(.host) }
    case "authorization":
      if request.token != nil { problems.insert(.authorization) }
      request.token = Secret(value)
    case "transfer-encoding", "trailer": problems.insert(.body)
    case "content-length" where value != [0x30]: problems.insert(.body)
    case "expect": problems.insert(.expectation)
    case "connection":
      let words = String(decoding: value, as: UTF8.self).lowercased().split(separator: ",")
      for word in words where word.filter({ $0 != " " && $0 != "\t" }) == "close" {
        // A blank within the word makes another word.
        let blanks = word.drop { $0 == " " || $0 == "\t" }
        if blanks.hasPrefix("close") { request.closes = true }
      }
    default: break
    }
  }

  private static func foreign(_ name: String) -> ForeignHeader? {
    switch name {
    case "origin": .origin
    case "referer": .referer
    case "cookie": .cookie
    case "forwarded": .forwarded
    case "via": .via
    case "x-real-ip": .xRealIP
    case _ where name.hasPrefix("sec-"): .sec
    case _ where name.hasPrefix("x-forwarded"): .xForwarded
    case _ where name.hasPrefix("proxy-"): .proxy
    default: nil
    }
  }
}
