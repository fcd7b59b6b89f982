internal import CLinux
internal import CSystemd
internal import Glibc

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

  /// How the names of session stores begin.
  static let storeName = "sessions"
  /// The name of one that was not passed: see ``ParkedSessions``.
  static let parkedName = "parked"

  public init() {}

  /// - Throws: where something else was passed, which it names.
  public static func take() throws(SystemError) -> PassedDescriptors {
    var passed = PassedDescriptors()
    for (index, name) in try named().enumerated() {
      let descriptor = SD_LISTEN_FDS_START + Int32(index)
      try passed.add(Named(descriptor: descriptor, name: name))
    }
    return passed
  }

  private mutating func add(_ passed: Named) throws(SystemError) {
    let what = "passed descriptor \(passed.descriptor) '\(passed.name)'"
    if try SystemError.check(credd_is_unix_listener(passed.descriptor), "inspect \(what)") == 1 {
      // systemd may pass blocking sockets; accepting must never wait.
      try SystemError.check(credd_set_nonblocking(passed.descriptor), "prepare \(what)")
      listeners.append(passed)
    } else if passed.name.hasPrefix(Self.storeName), credd_is_memfd(passed.descriptor) == 1 {
      stores.append(passed)
    } else {
      throw SystemError(
        "use \(what), neither a listening Unix stream socket nor stored sessions", number: EINVAL)
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
