/// The process that made the socket at the other end of a connection, as the kernel names its user.
/// With a socket of systemd's that is root, or the user whose manager it is.
public enum Listener: Equatable, Sendable {
  /// Root, this user, or the user `credd`.
  case trusted
  /// A user without a uid in this user namespace: the host's root, or anybody else outside it.
  case unmapped
  /// Another user.
  case stranger(uid: UInt32)

  /// - Parameters:
  ///   - uid: the listener's.
  ///   - own: this process's effective uid.
  ///   - overflow: the uid that stands for all users without one in this user namespace.
  ///   - hasEveryUid: whether this namespace has all uids, as the host's has: then that uid is an
  ///     ordinary user.
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

/// Whether a request holds a secret, and who may get it.
public enum SecretDelivery: Sendable {
  case none
  /// Only a listener whose user is known.
  case toKnownListener
  /// `--trust-socket`.
  case toAnyListener
}

extension Listener {
  /// What to do with the connection, before anything is sent.
  public enum Judgement: Equatable, Sendable {
    case send
    /// It is another user's socket at the place of this user's own: `sudo` and `su` may keep
    /// `$XDG_RUNTIME_DIR`. The system's socket is next.
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
