import AuthCore
import NIOCore
import NIOHTTP1

extension ConnectionMachine {
  enum Event {
    /// Bytes have come. Nobody has looked at them yet.
    case bytes
    case head(HTTPRequestHead)
    case body(ByteBuffer)
    case end
    /// What came is no HTTP.
    case unreadable
    /// The responder asks for the body.
    case bodyWanted(limit: Int)
    case answered(Response)
    /// The kernel has taken the oldest answer that it had not taken yet.
    case flushed
    /// The channel would like to read.
    case readWanted
    /// Whether the kernel takes more answers.
    case writable(Bool)
    /// The client sends nothing more. It may wait for answers still.
    case halfClosed
    /// The server stops.
    case stopping
    /// What the connection waits for has not come in time.
    case timer
    /// TLS, the socket or a write failed.
    case failed
    case closed
  }

  enum Action {
    /// Give this request to the responder.
    case respond(HTTPRequestHead)
    /// Give the responder the body that it asked for.
    case give(RequestBody.Outcome)
    case write(Response, withBody: Bool, isLast: Bool)
    case read
    case close
  }

  /// What is waited for, and since when.
  struct Wait: Equatable {
    enum Reason {
      /// All bytes of a request. The first request has the time for a balancer's header and for TLS'
      /// handshake too.
      case request
      /// The kernel has taken the answers. That takes long if the client does not read.
      case answer
      case idle
    }

    let reason: Reason
    let since: NIODeadline

    /// - Parameter idle: how long a connection may stay without a request.
    func end(idle: @autoclosure () -> Interval) -> NIODeadline {
      let time =
        switch reason {
        case .request: Limits.requestTime
        case .answer: Limits.answerTime
        case .idle: idle()
        }
      return since + .milliseconds(time.milliseconds)
    }
  }
}
