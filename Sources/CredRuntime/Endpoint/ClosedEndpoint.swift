internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// The endpoint of a daemon that cannot serve. It tells HTTP clients to try again. Units get their
/// tokens, because these do not depend on the configuration. Everything is done at once and may
/// block, because the process is about to end.
final class ClosedEndpoint {
  private let sockets: EndpointSockets
  private let log = LogOutput.logger(LogThreshold(.warning))
  private var refusals = TokenRefusals()
  /// Nil until the first token is asked for; the inner nil means that no token can be given.
  private var source: (key: TokenKey, digests: Libcrypto)??

  init(_ sockets: EndpointSockets) {
    self.sockets = sockets
  }

  var descriptors: [Int32] { sockets.listeners.map(\.descriptor) + sockets.tokens }

  /// Answers the clients that have connected.
  func answerAll() {
    for listener in sockets.listeners {
      Self.accept(from: listener.descriptor) { client in
        Self.send(EndpointReply.unconfigured.bytes, to: client)
        credd_finish_sending(client)
        credd_close(client)
      }
    }
    for listener in sockets.tokens {
      Self.accept(from: listener) { giveToken(to: TokenClient($0)) }
    }
  }

  private static func accept(from listener: Int32, _ answer: (Int32) -> Void) {
    for _ in 0..<ServerLimits.refusalsAtOnce {
      let client = credd_accept(listener)
      guard client >= 0 else { return }
      answer(client)
    }
  }

  private static func send(_ bytes: [UInt8], to client: Int32) {
    _ = unsafe bytes.withUnsafeBytes { unsafe credd_send(client, $0.baseAddress, $0.count) }
  }

  private func giveToken(to client: TokenClient) {
    let now = Instant(nanoseconds: credd_boottime())
    let owner: TokenOwner
    let profile: String
    switch client.grant(overflowUID: credd_overflow_uid(), accepted: now) {
    case .token(let known, let named): (owner, profile) = (known, named)
    case .refused(let reason): return refusals.note(reason, client, now, log)
    }
    guard let (key, digests) = takeSource() else {
      return refusals.note(
        "the token key or libcrypto cannot be loaded", client, now, log)
    }
    var random = SystemRandomNumberGenerator()
    let time = WallTime(milliseconds: credd_walltime())
    client.send(key.token(of: owner, for: profile, at: time, &random, digests).text)
  }

  private func takeSource() -> (key: TokenKey, digests: Libcrypto)? {
    if let source { return source }
    let made = Self.makeSource()
    source = .some(made)
    return made
  }

  private static func makeSource() -> (key: TokenKey, digests: Libcrypto)? {
    guard let folder = ServiceDirectory.runtime, let bytes = try? TokenKeyFile.take(in: folder),
      Library.Name.crypto.load() == nil
    else { return nil }
    let digests = Libcrypto()
    return TokenKey(bytes, digests).map { ($0, digests) }
  }
}
