internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// Gives tokens to service managers, on a socket that units name in `LoadCredential=`.
///
/// Starting units wait for this answer, some of them without a limit. So it depends only on the
/// key, not on the configuration, the user database or a session. A refusal is an empty answer: the
/// unit then starts with an empty file, and the journal has the reason.
final class TokenServer {
  /// The values on which an answer depends.
  struct Source {
    let key: Secret
    let crypto: any CryptoLoading
    let overflowUID: UInt32
    let log: Logger
  }

  private static let acceptsAtOnce = 4
  /// The pause after a failure to accept: an immediate retry would spin.
  private static let pause = Duration.milliseconds(100)
  private let loop: EventLoop
  private let source: Source
  /// Called after each token, which is out by then.
  private let given: (TokenOwner, _ profile: String) -> Void
  private var listeners: [EventSource] = []
  private var timer: EventSource?
  private var refusals = TokenRefusals()

  init(
    loop: EventLoop, source: Source, given: @escaping (TokenOwner, _ profile: String) -> Void
  ) {
    self.loop = loop
    self.source = source
    self.given = given
  }

  /// Answers clients of `listener`, which the caller still owns.
  func listen(on listener: Int32) throws(SystemError) {
    credd_refuse_descriptors(listener)
    if timer == nil {
      timer = try loop.timer { [unowned self] _ in self.listeners.forEach { $0.setEnabled(true) } }
    }
    listeners.append(
      try loop.watch(listener, for: CREDD_EPOLL_IN) { [unowned self] _ in accept(from: listener) })
  }

  func stopListening() { listeners = [] }

  private func accept(from listener: Int32) {
    for _ in 0..<Self.acceptsAtOnce {
      let descriptor = credd_accept(listener)
      switch -descriptor {
      case EAGAIN: return
      case ECONNABORTED, EINTR: continue
      case 1...:
        // Descriptors or memory ran out.
        listeners.forEach { $0.setEnabled(false) }
        timer?.arm(at: loop.now + Self.pause)
        return
      default: answer(TokenClient(descriptor), loop.now)
      }
    }
  }

  private func answer(_ client: TokenClient, _ now: Instant) {
    switch client.grant(overflowUID: source.overflowUID, accepted: now) {
    case .token(let owner, let profile):
      let (source, time, given) = (source, loop.wallTime, given)
      source.crypto.load { crypto in
        guard let crypto, let key = TokenKey(source.key, crypto) else {
          return source.log.error("no endpoint token is given: libcrypto cannot be loaded")
        }
        var random = SystemRandomNumberGenerator()
        client.send(key.token(of: owner, for: profile, at: time, &random, crypto).text)
        given(owner, profile)
      }
    case .refused(let reason): refusals.note(reason, client, now, source.log)
    }
  }
}

/// The warnings about refused tokens, so that the operator finds each unit that starts without one.
struct TokenRefusals {
  private var limiter = NoticeLimiter(burst: 1)

  /// Allows one warning a minute for each uid. Root asks for all units of the host, so each reason
  /// counts separately for root: it names the unit and the credential. Other users could fill the
  /// journal with such names.
  mutating func note(
    _ reason: String, _ client: TokenClient, _ now: Instant, _ log: Logger
  ) {
    let uid = client.peer?.uid ?? .max
    let subject = NoticeLimiter.Subject(
      event: "token", profile: "", uid: uid, detail: uid == 0 ? reason : "")
    guard let repeats = limiter.admit(subject, now: now) else { return }
    var metadata: Logger.Metadata = ["uid": "\(uid)"]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    log.warning("no endpoint token is given: \(reason)", metadata: metadata)
  }
}

/// A connection to the token socket. Owns the descriptor.
final class TokenClient {
  private let descriptor: Int32
  /// The peer; nil if the kernel did not name it.
  let peer: Peer?

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    peer = try? Peer.connected(to: descriptor)
  }

  deinit { credd_close_client(descriptor, credd_may_carry_descriptors(descriptor)) }

  func grant(overflowUID: UInt32, accepted: Instant) -> TokenGrant {
    guard let peer else { return .refused("the kernel did not say who the caller is") }
    var name = [UInt8](repeating: 0, count: 128)
    let count = unsafe credd_peer_name(descriptor, &name, name.count)
    // The unit matters only for root.
    let unit =
      peer.uid == 0 ? CallerUnit.name(of: peer, on: descriptor, accepted: accepted) : nil
    return TokenGrant(
      uid: peer.uid, isUnmapped: peer.uid == overflowUID,
      address: Array(name.prefix(max(count, 0))),
      unit: unit)
  }

  /// The token is far smaller than the socket's buffer.
  func send(_ token: Secret) {
    _ = unsafe token.bytes.withUnsafeBytes { bytes in
      unsafe credd_send(descriptor, bytes.baseAddress, bytes.count)
    }
  }
}
