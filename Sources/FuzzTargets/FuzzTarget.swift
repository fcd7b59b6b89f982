import CredCore

/// The readers of bytes from outside. For any bytes they must not trap, and must keep the
/// properties checked here.
public enum FuzzTarget: String, Sendable, CaseIterable {
  /// The framer and a request line.
  case line
  case configuration
  /// Replies of Cognito, STS, an HTTP backend, a command and the sample server.
  case cognito
  case sts
  case backend
  case exec
  case sample
  /// A session in the descriptor store, and its frame.
  case snapshot
  /// The file of IdentityIds.
  case identities

  /// Reads `bytes` once.
  ///
  /// - Returns: the property that the reader broke; nil if there is none.
  public func fault(reading bytes: [UInt8]) -> String? {
    switch self {
    case .line: faultInLines(bytes)
    case .configuration: faultInConfiguration(bytes)
    case .cognito: faultInCognitoReplies(bytes)
    case .sts: faultInSTSReply(bytes)
    case .backend: faultInBackendReplies(bytes)
    case .exec: faultInOutput(bytes)
    case .sample: faultInSampleReplies(bytes)
    case .snapshot: faultInSnapshot(bytes)
    case .identities: faultInIdentities(bytes)
    }
  }

  // MARK: Lines

  /// Lines do not depend on the chunks in which they arrive, and an error is one line.
  private func faultInLines(_ bytes: [UInt8]) -> String? {
    let whole = lines(bytes, inPiecesOf: max(bytes.count, 1))
    guard whole == lines(bytes, inPiecesOf: 3) else { return "pieces make other lines" }
    for line in whole { if let fault = faultInRequest(line) { return fault } }
    return nil
  }

  private func lines(_ bytes: [UInt8], inPiecesOf size: Int) -> [[UInt8]] {
    var framer = LineFramer(limit: 4096)
    var lines: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      let chunk = Array(bytes[start..<min(start + size, bytes.count)])
      var position = 0
      reading: while true {
        switch framer.next(in: chunk.span, from: &position) {
        case .line(let range): lines.append(Array(chunk[range]))
        case .joined(let line): lines.append(line)
        case .needsMore: break reading
        case .tooLarge: return lines
        }
      }
    }
    return lines
  }

  private func faultInRequest(_ line: [UInt8]) -> String? {
    do throws(RequestError) {
      let request = try Request.parse(line)
      var cache = ParsedRequestCache(seed: 1)
      cache.remember(request, for: line.span)
      if let known = cache.request(for: line.span), known != request { return "the cache errs" }
      return nil
    } catch {
      var reply: [UInt8] = []
      RenderedReply.error(error.error).append(to: &reply, id: error.id)
      let breaks = reply.count { $0 == 0x0A }
      return breaks == 1 && reply.last == 0x0A ? nil : "a refusal that is not one line"
    }
  }

  // MARK: Files

  private func faultInConfiguration(_ bytes: [UInt8]) -> String? {
    let reading = Configuration.read([ConfigurationSource(name: "fuzz", bytes: bytes)]) {
      $0 == "DIRECTORY" ? "/run/credentials" : nil
    }
    if reading.configuration == nil, reading.diagnostics.isEmpty { return "refused without a word" }
    let isOneLine = reading.diagnostics.allSatisfy { !$0.description.utf8.contains(0x0A) }
    return isOneLine ? nil : "a diagnostic of several lines"
  }

  private func faultInSnapshot(_ bytes: [UInt8]) -> String? {
    for place in stride(from: 0, to: min(bytes.count, 64), by: 8) {
      _ = StoredRecord.find(in: bytes, at: place, marker: 0x4352_4544_4421_4D4B, isLast: true)
    }
    guard let record = try? SessionRecord(reading: bytes[...]) else { return nil }
    guard let again = try? SessionRecord(reading: record.encoded[...]) else {
      return "what was written cannot be read"
    }
    guard again == record else { return "what was written reads otherwise" }
    // A session restored from it must work.
    var machine = SessionMachine(
      plan: SessionPlan(backend: .host), snapshot: record.snapshot, now: .seconds(1000),
      jitter: 0.5)
    var random = SystemRandomNumberGenerator()
    var callIDs = CallIDs()
    _ = machine.handle(.timePassed, now: .seconds(1000), callIDs: &callIDs, random: &random)
    return machine.nextWake > .seconds(1000) ? nil : "a session that wakes without end"
  }

  private func faultInIdentities(_ bytes: [UInt8]) -> String? {
    let content = IdentityFileText.read(bytes)
    let again = IdentityFileText.read(IdentityFileText.write(content.identities.map(\.line)))
    return again.identities == content.identities && again.damage == nil
      ? nil : "what was written reads otherwise"
  }
}
