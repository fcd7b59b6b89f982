/// The process that made the socket at the other end of a connection; the kernel names its user. If
/// systemd made the socket, that is root, or the user of the user manager.
public enum Listener: Equatable, Sendable {
  /// Root, this user, or the user `credd`.
  case trusted
  /// A user without a uid in this user namespace: the host's root, or anybody else outside the
  /// namespace.
  case unmapped
  /// Another user.
  case stranger(uid: UInt32)

  /// - Parameters:
  ///   - uid: the listener's uid.
  ///   - own: this process's effective uid.
  ///   - overflow: the uid that stands for all users without one in this user namespace.
  ///   - hasEveryUid: whether this namespace has all uids, like the host's. Then the overflow uid
  ///     is an ordinary user.
  ///   - daemonUser: the uid of the user `credd`, if there is one.
  public init(
    uid: UInt32, own: UInt32, overflow: () -> UInt32, hasEveryUid: () -> Bool,
    daemonUser: () -> UInt32?
  ) {
    if uid == 0 {
      self = .trusted
    } else if uid == overflow(), !hasEveryUid() {
      self = .unmapped
    } else if uid == own || uid == daemonUser() {
      self = .trusted
    } else {
      self = .stranger(uid: uid)
    }
  }
}

/// Whether a request contains a secret, and which listeners may get it.
public enum SecretDelivery: Sendable {
  case none
  /// Only a listener that belongs to a known user.
  case toKnownListener
  /// `--trust-socket`.
  case toAnyListener
}

extension Listener {
  /// The decision about the connection, before anything is sent.
  public enum Judgement: Equatable, Sendable {
    case send
    /// It is another user's socket in place of this user's: `sudo` and `su` may keep
    /// `$XDG_RUNTIME_DIR`. The system's socket is tried next.
    case passOver
    case refuse(Failure)
  }

  public func judgement(of socket: SocketPath, _ secret: SecretDelivery) -> Judgement {
    switch (self, socket.origin) {
    case (.trusted, _): .send
    case (_, .userManager): .passOver
    case (.unmapped, _) where secret == .toKnownListener:
      .refuse(
        Failure(
          .notPermitted,
          "this user namespace does not show who listens at \(socket.path), so no secret was sent: "
            + "if you trust that socket, say '--trust-socket'"))
    case (.unmapped, _): .send
    case (.stranger(let uid), _):
      .refuse(
        Failure(
          .notPermitted,
          "the socket \(socket.path) belongs to uid \(uid), who is not root, not you and not the user "
            + "credd, so nothing was sent: check --socket and $CREDD_SOCKET"))
    }
  }
}
