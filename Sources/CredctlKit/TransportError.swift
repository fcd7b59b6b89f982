/// The reason why no reply came over the socket.
public enum TransportError: Error, Equatable, Sendable {
  /// No process listens at the path (ENOENT, ECONNREFUSED).
  case noListener
  /// The mode of the socket or of its directory excludes this user (EACCES, EPERM).
  case notPermitted
  /// The path does not fit in a socket address.
  case pathTooLong(limit: Int)
  /// credd accepted no connection in time.
  case connectTimedOut(seconds: Int)
  /// credd sent no complete reply in time.
  case replyTimedOut(seconds: Int)
  /// credd closed the connection before the reply was complete.
  case closedEarly
  /// The reply is longer than ``ReplyLimits/line``.
  case replyTooLong
  /// The reader of standard output is gone, as after `credctl watch | head`.
  case outputClosed
  /// The user pressed Ctrl-C while credctl waited for the reply.
  case interrupted
  /// A system call failed: its name, and the text of strerror(3).
  case system(call: String, text: String)
}

/// What credctl runs in, as far as its advice depends on it.
public struct Surroundings: Sendable {
  /// Whether it is a container, in which nobody starts the host's credd.
  public var isContainer: Bool
  /// Whether SELinux may have refused something.
  public var hasSELinux: Bool
  /// Whether credd is installed here. A container that runs systemd may have another credd.
  public var hasUnit: Bool

  public init(isContainer: Bool = false, hasSELinux: Bool = false, hasUnit: Bool = false) {
    self.isContainer = isContainer
    self.hasUnit = hasUnit
    self.hasSELinux = hasSELinux
  }

  /// By the marks that podman, docker and systemd-nspawn leave.
  public init(environment: (String) -> String?, exists: (String) -> Bool) {
    let marks = ["/run/.containerenv", "/.dockerenv"]
    isContainer =
      environment("container").map { !$0.isEmpty } ?? false || marks.contains(where: exists)
    hasSELinux = exists("/sys/fs/selinux/enforce")
    hasUnit = ["/usr/lib/systemd/system/credd.socket", "/etc/systemd/system/credd.socket"]
      .contains(where: exists)
  }
}

extension Failure {
  /// Says what to do about a failed exchange with the daemon.
  public init(
    _ error: TransportError, at socket: SocketPath, in surroundings: Surroundings = Surroundings()
  ) {
    let path = socket.path
    switch error {
    case .noListener:
      self.init(
        .unavailable,
        "credd is not running (no listener at \(path)): \(socket.startAdvice(in: surroundings))")
      isAbsenceOfDaemon = true
    case .notPermitted:
      self.init(
        .notPermitted,
        "no permission to connect to \(path): ask the administrator for access to that socket"
          + (surroundings.hasSELinux ? "; if SELinux refuses it, 'ausearch -m avc' says so" : ""))
    case .pathTooLong(let limit):
      self.init(.usage, "the socket path \(path) is longer than \(limit) bytes: use a shorter one")
    case .connectTimedOut(let seconds):
      self.init(
        .tryAgain, "credd at \(path) accepted no connection in \(seconds) s: \(Self.lookAtService)")
    case .replyTimedOut(let seconds):
      self.init(.tryAgain, "credd at \(path) did not answer in \(seconds) s: \(Self.lookAtService)")
    case .closedEarly:
      self.init(.tryAgain, "credd at \(path) closed the connection: try again")
      isEndOfDaemon = true
    case .replyTooLong:
      self.init(
        .unavailable,
        "the reply from \(path) is longer than \(ReplyLimits.line) bytes: check that credd listens there"
      )
    case .outputClosed:
      self = .outputClosed
    case .interrupted: self = .signInCancelled
    case .system(let call, let text):
      self.init(.unavailable, "\(call) failed at \(path): \(text)")
    }
  }

  /// A reader of a stream of events ends it in this way: see ``Sysexit/success``.
  public static let outputClosed = Failure(.outputFailed, "standard output is closed")

  /// Ctrl-C at a prompt, or while a user signs in elsewhere.
  public static let signInCancelled = Failure(.interrupted, "cancelled")

  private static let lookAtService = "try again, then see 'systemctl status credd'"
}

extension SocketPath {
  fileprivate func startAdvice(in surroundings: Surroundings) -> String {
    switch origin {
    // The folder, not the socket: a new socket would leave the mount of the old one.
    case .system where surroundings.isContainer && !surroundings.hasUnit:
      "mount \(Self.folder(of: path)) into this container, and let credd run on its host"
    case .system: "start it with 'systemctl enable --now credd.socket'"
    case .userManager: "start it with 'systemctl --user start credd.socket'"
    case .given: "start credd there, or correct --socket or $CREDD_SOCKET"
    }
  }
}

/// How long credctl waits for a socket that may appear.
public enum SocketWait {
  /// The milliseconds between two attempts, and the number of attempts: 300 ms in all.
  public static let milliseconds = 10
  public static let attempts = 30
}
