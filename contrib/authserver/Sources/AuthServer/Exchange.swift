import AuthCore
import NIOCore
import NIOHTTP1

/// One request of a connection, from its head until it is whole and answered.
struct Exchange {
  enum Arrival {
    case arriving, whole
    /// The rest never comes.
    case broken
  }

  enum State: Equatable {
    /// Requests before it have no answers yet.
    case waiting
    /// The responder has it.
    case asked
    /// The responder waits for its body, which may have that many bytes.
    case wanted(Int)
    /// The responder has the body too, or was told why there is none.
    case given
    case answered
    /// The kernel has taken the answer, and the request still arrives.
    case flushed
  }

  let head: HTTPRequestHead
  /// Why no responder sees the request; nil if a responder does.
  let refusal: Refusal?
  /// Nothing behind it counts.
  var isLast: Bool
  var arrival = Arrival.arriving
  var state = State.waiting
  /// What has come of the body.
  var body = ByteBuffer()
  /// Of the body: as the request declares it, or more than anybody takes.
  private var length: Int

  init(_ head: HTTPRequestHead) {
    self.head = head
    refusal = head.refusal
    // No client needs a connection that stays open in HTTP/1.0. Bytes behind a request for another
    // protocol are no HTTP.
    isLast =
      refusal != nil || !head.isKeepAlive || head.version != .http1_1 || head.method == .CONNECT
      || head.headers.contains(name: "upgrade")
    length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
  }

  var isDone: Bool { arrival != .arriving && (state == .answered || state == .flushed) }

  /// Nothing is read behind a request without an answer. A body is read once the responder asks for it.
  /// After the answer, the rest of the body is read and dropped: if the connection closed before, the
  /// client could lose the answer.
  var holdsReads: Bool {
    switch state {
    case .waiting, .asked, .given: true
    case .wanted: arrival != .arriving
    case .answered, .flushed: false
    }
  }

  /// - Parameter room: how many more bytes may be kept.
  mutating func add(_ part: ByteBuffer, room: Int) {
    guard state != .answered, state != .flushed, length < .max else { return }
    if part.readableBytes <= room {
      body.writeImmutableBuffer(part)
    } else {
      length = .max
      body = ByteBuffer()
    }
  }

  /// What the responder gets for the body; nil while it does not ask, or while the body arrives.
  var outcome: RequestBody.Outcome? {
    guard case .wanted(let limit) = state else { return nil }
    guard max(length, body.readableBytes) <= limit else {
      return .failure(
        Refusal(413, "RequestTooLarge", "the body is longer than \(limit) bytes"))
    }
    return switch arrival {
    case .arriving: nil
    case .whole: .success(Array(body.readableBytesView))
    case .broken: .failure(.brokenBody)
    }
  }
}

extension HTTPRequestHead {
  /// Why no responder sees the request: others on its way may take it for another one (RFC 9112,
  /// sections 3.2 and 6.1).
  fileprivate var refusal: Refusal? {
    let hosts = headers["host"].count
    let isOld = (version.major, version.minor) < (1, 1)
    guard hosts == 1 || hosts == 0 && isOld else {
      return Refusal(400, "InvalidRequest", "a request has one Host, this one has \(hosts)")
    }
    let codings = headers["transfer-encoding"]
    guard !codings.isEmpty else { return nil }
    guard !isOld, codings.count == 1, codings[0].lowercased() == "chunked" else {
      return Refusal(
        501, "InvalidRequest", "no Transfer-Encoding is known here but 'chunked' of HTTP/1.1")
    }
    return nil
  }
}

extension Refusal {
  static let brokenBody = Self(400, "InvalidRequest", "the body broke off")
}
