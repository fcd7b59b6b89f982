import CredCore

extension FuzzTarget {
  /// Lines do not depend on the chunks in which they arrive; each is a request or a refusal, and
  /// the second reading agrees.
  func judgeLines(_ bytes: [UInt8]) -> Verdict {
    let limit = 4096
    let second = SecondLines(bytes, limit: limit)
    for size in [1, 3, 7, 64, max(bytes.count, 1)] {
      let lines = SecondLines(framing: bytes, inPiecesOf: size, limit: limit)
      guard lines == second else { return .fault("pieces of \(size) bytes make other lines") }
    }
    return .all(second.lines.map(judgeRequest))
  }

  private func judgeRequest(_ line: [UInt8]) -> Verdict {
    let reading = SecondJSONReading(line, limits: Limits.Line.json)
    let second = SecondRequest(reading.value)
    // Foundation's value does not show whether a limit was written as 1 or as 1.0.
    let text = String(decoding: line, as: UTF8.self)
    if second.members["limit"]?.number != nil, text.contains(/[0-9][.eE]/) { return .refused }
    do throws(RequestError) {
      let request = try Request.parse(line)
      let verdict = judgeCache(request, line)
      if verdict.fault != nil || reading == .outOfRange { return verdict }
      guard second.problems.isEmpty, let operation = second.operation else {
        return .fault("accepted, though the second reading finds \(second.problems)")
      }
      guard operation.inOrder == request.operation.inOrder else {
        return .fault("read as \(request.operation), by the second reading as \(operation)")
      }
      guard request.purpose == second.purpose else { return .fault("another purpose") }
      let isNamed = second.members["profile"] != nil
      return .all([
        judgeID(request.id, second.id), judgeStandardProfile(request, line, isNamed: isNamed),
      ])
    } catch {
      if reading == .outOfRange { return .refused }
      // The length of an id that is a number is not known to the second reading.
      let isLongID = second.id?.number != nil && line.count > 256
      guard second.problems.contains(error.error.code) || isLongID else {
        return .fault("refused with \(error.error), not for \(second.problems)")
      }
      return judgeRefusal(error, second.id)
    }
  }

  /// Over a socket with a cap another profile may be meant where the line names none, and only there.
  private func judgeStandardProfile(
    _ request: Request, _ line: [UInt8], isNamed: Bool
  ) -> Verdict {
    let other = try? Request.parse(line, standardProfile: "standard")
    guard !isNamed, case .get(var get) = request.operation else {
      return .check(!isNamed || other == request, "the standard profile takes the place of another")
    }
    get.profile = "standard"
    return .check(other?.operation == .get(get), "the standard profile is not meant")
  }

  private func judgeID(_ id: RequestID?, _ second: SecondJSON?) -> Verdict {
    guard let id else { return second == nil ? .accepted : .fault("the id is lost") }
    let read = SecondJSONReading(id.json)
    return read == .outOfRange || read.value == second ? .accepted : .fault("another id")
  }

  private func judgeCache(_ request: Request, _ line: [UInt8]) -> Verdict {
    var cache = ParsedRequestCache(seed: 1)
    cache.remember(request, for: line.span)
    let known = cache.request(for: line.span)
    if known != nil, request.id != nil || !request.operation.isFreeOfSecrets {
      return .fault("a line with a secret or an id is kept")
    }
    var other = line
    other[other.count / 2] ^= 1
    return .all([
      .check(known == nil || known == request, "the cache gives another request"),
      .check(cache.request(for: other.span) == nil, "the cache knows another line"),
      .accepted,
    ])
  }

  /// A refusal is one line of JSON without control characters, with the id of the request.
  private func judgeRefusal(_ error: RequestError, _ id: SecondJSON?) -> Verdict {
    var reply: [UInt8] = []
    RenderedReply.error(error.error).append(to: &reply, id: error.id)
    let message = error.error.message
    let isPlain = message.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
    let object = SecondJSONReading(Array(reply.dropLast())).value
    return .all([
      .check(reply.last == 0x0A && reply.count { $0 == 0x0A } == 1, "a refusal is not one line"),
      .check(isPlain && message.utf8.count < 1024, "a refusal that does not show: \(message)"),
      .check(object?["Error"]?["Message"]?.text == message, "a refusal with another message"),
      .check(
        object?["Error"]?["Code"]?.text == error.error.code.rawValue, "a refusal without its code"),
      .check(error.id == nil || object?["Id"] == id, "a refusal with another id"),
    ])
  }
}

/// What a stream of lines holds.
struct SecondLines: Equatable {
  var lines: [[UInt8]] = []
  /// A line is over the limit: the rest is not read.
  var isTooLarge = false

  /// The second reading: the whole stream is cut at its newlines.
  init(_ bytes: [UInt8], limit: Int) {
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      guard line.count <= limit else {
        isTooLarge = true
        return
      }
      if line.contains(where: { !" \t\r".utf8.contains($0) }) { lines.append(Array(line)) }
    }
  }

  /// What the framer makes of the stream.
  init(framing bytes: [UInt8], inPiecesOf size: Int, limit: Int) {
    var framer = LineFramer(limit: limit)
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = Array(bytes[start..<min(start + size, bytes.count)])
      var position = 0
      reading: while true {
        switch framer.next(in: chunk.span, from: &position) {
        case .line(let range): lines.append(Array(chunk[range]))
        case .joined(let line): lines.append(line)
        case .needsMore: break reading
        case .tooLarge:
          isTooLarge = true
          return
        }
      }
    }
    if let last = framer.finish() { lines.append(last) }
  }
}
