internal import CLinux
internal import CSystemd
internal import Glibc
public import Logging

/// What the service manager passed (sd_listen_fds(3)): listening sockets, and what a former process
/// of this service left in the descriptor store.
public struct PassedDescriptors: Sendable {
  /// A descriptor with the name it has at the service manager.
  public struct Named: Sendable, Equatable {
    public let descriptor: Int32
    public let name: String

    public init(descriptor: Int32, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// Whatever their names. They are never unlinked: they belong to systemd, which keeps listening on
  /// them after this process (gitsign#830).
  public private(set) var listeners: [Named] = []
  /// Files of sessions: one, or two where a process was killed while it replaced one.
  public private(set) var stores: [Named] = []
  /// Sockets that credd cannot serve: it knows callers by the kernel's word for them, which others
  /// than listening Unix stream sockets do not have.
  public private(set) var unusable: [Named] = []
  /// Names of what is neither, as another version may leave in the descriptor store; closed.
  public private(set) var strays: [String] = []

  /// How the names of session stores begin.
  static let storeName = "sessions"
  /// The name of one that was not passed: see ``SessionsFile``.
  static let fileName = "parked"

  public init() {}

  /// - Throws: where the kernel does not say what was passed.
  public static func take() throws(SystemError) -> PassedDescriptors {
    var passed = PassedDescriptors()
    for (index, name) in try named().enumerated() {
      let descriptor = SD_LISTEN_FDS_START + Int32(index)
      try passed.add(Named(descriptor: descriptor, name: name))
    }
    return passed
  }

  mutating func add(_ passed: Named) throws(SystemError) {
    let what = "passed descriptor \(passed.descriptor) '\(passed.name)'"
    if try SystemError.check(credd_is_unix_listener(passed.descriptor), "inspect \(what)") == 1 {
      // systemd may pass blocking sockets; accepting must never wait.
      try SystemError.check(credd_set_nonblocking(passed.descriptor), "prepare \(what)")
      listeners.append(passed)
    } else if passed.name.hasPrefix(Self.storeName), credd_is_memfd(passed.descriptor) == 1 {
      stores.append(passed)
    } else if credd_is_socket(passed.descriptor) == 1 {
      unusable.append(passed)
    } else {
      credd_close(passed.descriptor)
      strays.append(passed.name)
    }
  }

  /// Has the service manager drop what no version like this one can use.
  public func dropStrays(log: Logger) {
    for name in strays {
      log.warning("dropped a descriptor that is of no use here", metadata: ["name": "\(name)"])
      ServiceNotification.remove(name)
    }
  }

  private static func named() throws(SystemError) -> [String] {
    var names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = try unsafe SystemError.check(
      sd_listen_fds_with_names(1, &names), "take the descriptors passed by systemd")
    guard let list = unsafe names else { return [] }
    defer { unsafe free(list) }
    var texts: [String] = []
    for index in 0..<Int(count) {
      guard let name = unsafe list[index] else { break }
      texts.append(unsafe String(cString: name))
      unsafe free(name)
    }
    return texts
  }
}
