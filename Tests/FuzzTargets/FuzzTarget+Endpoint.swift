import CredCore

extension FuzzTarget {
  /// Requests to the endpoint do not depend on the pieces in which they arrive, and the second
  /// reading agrees. A refusal ends the reading.
  func judgeEndpoint(_ bytes: [UInt8]) -> Verdict {
    let second = SecondEndpoint(bytes)
    let whole = read(bytes, inPiecesOf: max(bytes.count, 1))
    for size in [1, 2, 7, 64] where read(bytes, inPiecesOf: size) != whole {
      return .fault("pieces of \(size) bytes make other requests")
    }
    guard whole.requests == second.requests else {
      return .fault(
        "\(whole.requests.count) requests, by the second reading \(second.requests.count)")
    }
    if let refusal = whole.refusal {
      // A head without an end may be refused at any byte.
      guard second.problems.isEmpty || second.problems.contains(refusal) else {
        return .fault("refused for \(refusal), not for \(second.problems)")
      }
    } else if !second.problems.isEmpty {
      return .fault("accepted, though the second reading finds \(second.problems)")
    }
    return .all(whole.requests.map(judgeRequest) + [judgeToken(inEndpoint: bytes)])
  }

  private struct Reading: Equatable {
    var requests: [EndpointRequest] = []
    var refusal: EndpointRefusal?
  }

  private func read(_ bytes: [UInt8], inPiecesOf size: Int) -> Reading {
    var reader = EndpointReader()
    var reading = Reading()
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      var position = 0
      loop: while true {
        switch reader.next(in: piece.span, from: &position) {
        case .needsMore: break loop
        case .request(let request): reading.requests.append(request)
        case .refused(let refusal):
          reading.refusal = refusal
          return reading
        }
      }
    }
    return reading
  }

  private func judgeRequest(_ request: EndpointRequest) -> Verdict {
    let path = request.path
    let text = String(decoding: request.target, as: UTF8.self)
    if case .credentialsOf(let profile) = path {
      return .all([
        .check(text == "/credentials/\(profile)", "another path than \(profile)'s"), .accepted,
      ])
    }
    return .all([
      .check((path == .metrics) == (text == "/metrics"), "another path than the metrics'"),
      .accepted,
    ])
  }

  /// A token has one spelling.
  private func judgeToken(inEndpoint bytes: [UInt8]) -> Verdict {
    let text = Secret(bytes)
    return .check(
      EndpointToken(text).map { $0.text == text } ?? true, "a token with two spellings")
  }
}
