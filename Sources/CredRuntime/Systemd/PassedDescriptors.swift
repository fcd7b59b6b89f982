internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredLoopback
internal import CredService
internal import Glibc
public import Logging

/// The descriptors that the service manager passed (sd_listen_fds(3)): listening sockets, and the
/// session stores of a former process of this service.
public struct PassedDescriptors: Sendable {
  /// A descriptor with its name in the service manager.
  public struct Named: Sendable, Equatable {
    public let descriptor: Int32
    public let name: String

    public init(descriptor: Int32, name: String) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// Listening sockets of any other name. credd never unlinks them, because they belong to systemd, which
  /// keeps listening after this process has ended (gitsign#830).
  public private(set) var listeners: [Named] = []
  /// Unix listeners named `capped`, which serve only what a section `[socket PATH]` says.
  public private(set) var capped: [Named] = []
  /// Session stores. There is one, or two if a process was killed while it replaced one.
  public private(set) var stores: [Named] = []
  /// The endpoint's sockets: a listener on loopback named `endpoint`, one on a path named `tokens`,
  /// and a netlink socket.
  public private(set) var endpoint = EndpointSockets()
  /// Passed sockets of other kinds, which are not used. credd can know the caller of a TCP
  /// connection only on loopback.
  public private(set) var unusable: [Named] = []
  /// Names of unknown descriptors, perhaps of another version. They are closed.
  public private(set) var strays: [String] = []

  /// `FileDescriptorName=` of the endpoint's sockets.
  static let endpointName = "endpoint"
  static let tokensName = "tokens"
  /// The prefix of the names of session stores.
  static let storeName = "sessions"
  /// The name of a store that was read from a file: see ``SessionsFile``.
  static let fileName = "parked"

  public init() {}

  /// - Throws: if the kernel does not describe the passed descriptors.
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
      if passed.name == Self.tokensName {
        endpoint.tokens.append(passed.descriptor)
      } else if passed.name == ClientSocket.nameOfCapped {
        capped.append(passed)
      } else {
        listeners.append(passed)
      }
    } else if let address = try endpointAddress(passed, what) {
      try SystemError.check(credd_set_nonblocking(passed.descriptor), "prepare \(what)")
      endpoint.listeners.append(
        EndpointSockets.Listener(descriptor: passed.descriptor, address: address))
    } else if credd_is_diag_socket(passed.descriptor) == 1, endpoint.netlink == nil {
      endpoint.netlink = passed.descriptor
    } else if passed.name.hasPrefix(Self.storeName), credd_is_memfd(passed.descriptor) == 1 {
      stores.append(passed)
    } else if credd_is_socket(passed.descriptor) == 1 {
      unusable.append(passed)
    } else {
      credd_close(passed.descriptor)
      strays.append(passed.name)
    }
  }

  /// The address of a listener of the endpoint; nil for any other descriptor.
  private func endpointAddress(
    _ passed: Named, _ what: String
  ) throws(SystemError) -> EndpointAddress? {
    guard passed.name == Self.endpointName else { return nil }
    var name = credd_tcp_name()
    let result = unsafe credd_is_loopback_listener(passed.descriptor, &name)
    guard try SystemError.check(result, "inspect \(what)") == 1 else { return nil }
    return EndpointAddress(name)
  }

  /// Tells the service manager to drop the descriptors that this version cannot use.
  public func dropStrays(log: Logger) {
    for name in strays {
      log.warning(
        """
        dropped a descriptor that this version of credd does not know: another version stored it, \
        or the unit has an OpenFile=
        """,
        metadata: ["name": "\(name)"])
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
