import Foundation
import Glibc
import Synchronization
import TestSupport

/// As much of systemd as a restart takes: it listens, starts credd with the socket, hears its
/// notifications, and keeps the descriptors that it leaves in store.
final class ServiceManager: Sendable {
  /// A descriptor in store.
  struct Stored: Sendable {
    let name: String
    let descriptor: Int32
  }

  private struct Heard {
    var stored: [Stored] = []
    var messages: [String] = []

    mutating func take(_ message: String, _ descriptor: Int32?) {
      let lines = message.split(separator: "\n")
      let name = lines.first { $0.hasPrefix("FDNAME=") }.map { String($0.dropFirst(7)) } ?? ""
      messages.append(message)
      if lines.contains("FDSTORE=1"), let descriptor {
        stored.append(Stored(name: name, descriptor: descriptor))
      } else if lines.contains("FDSTOREREMOVE=1") {
        for stored in stored where stored.name == name { close(stored.descriptor) }
        stored.removeAll { $0.name == name }
      }
    }
  }

  /// A socket that a socket unit listens at, with its `FileDescriptorName=`.
  struct Passed: Sendable {
    let name: String
    let path: String
  }

  private let listeners: [Int32]
  private let names: [String]
  private let notifications: Int32
  private let notificationPath: String
  private let heard = Mutex(Heard())

  /// - Parameter more: sockets of other units than credd.socket.
  init(listeningOn paths: [String], _ more: [Passed] = []) throws {
    notificationPath = try Stage.current().newFile("notify")
    names = paths.indices.map { "credd.socket\($0)" } + more.map(\.name)
    listeners = try (paths + more.map(\.path)).map { try Self.bound(SOCK_STREAM, to: $0) }
    notifications = try Self.bound(SOCK_DGRAM, to: notificationPath)
    for listener in listeners where listen(listener, 128) != 0 { throw CallFailed("listen") }
    let (notifications, box) = (notifications, WeakBox(self))
    Thread.detachNewThread {
      // Ends with the manager; its descriptor is closed here, where it is waited for.
      while box.manager != nil {
        var entry = pollfd(fd: notifications, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&entry, 1, 20) > 0 { box.manager?.takeAll { _ in } }
      }
      close(notifications)
    }
  }

  deinit {
    listeners.forEach { close($0) }
    for stored in heard.withLock({ $0.stored }) { close(stored.descriptor) }
  }

  /// Starts credd as a service, with all it left in store.
  func start(_ arguments: [String], _ environment: [String: String]) throws -> ChildProcess {
    let stored = self.stored
    var environment = environment
    environment["NOTIFY_SOCKET"] = notificationPath
    environment["LISTEN_FDS"] = String(listeners.count + stored.count)
    environment["LISTEN_FDNAMES"] = (names + stored.map(\.name)).joined(separator: ":")
    takeAll { $0.messages = [] }
    // The shell becomes credd, so its own pid is the right one.
    return try ChildProcess(
      ["/bin/sh", "-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"] + arguments,
      environment: environment, descriptors: listeners + stored.map(\.descriptor))
  }

  var stored: [Stored] { takeAll { $0.stored } }
  /// Since the last start.
  var messages: [String] { takeAll { $0.messages } }

  var isReady: Bool { messages.contains { $0.contains("READY=1") } }

  /// Puts something into store, as a process that was killed had left it.
  func store(_ descriptor: Int32, as name: String) {
    heard.withLock { $0.stored.append(Stored(name: name, descriptor: descriptor)) }
  }

  /// Forgets everything, as at a reboot.
  func emptyStore() {
    takeAll { heard in
      for stored in heard.stored { close(stored.descriptor) }
      heard.stored = []
    }
  }

  /// All that is in store.
  func content() throws -> [UInt8] {
    var content: [UInt8] = []
    for stored in stored {
      content += try Data(contentsOf: URL(filePath: "/proc/self/fd/\(stored.descriptor)"))
    }
    return content
  }

  func holds(_ text: String) throws -> Bool {
    Data(try content()).range(of: Data(text.utf8)) != nil
  }

  // MARK: Notifications

  /// Takes what has arrived before `body` looks, as systemd reads notifications before it sees that
  /// their sender has ended.
  private func takeAll<Result>(_ body: (inout sending Heard) -> sending Result) -> sending Result {
    heard.withLock { heard in
      while let (message, descriptor) = receive() { heard.take(message, descriptor) }
      return body(&heard)
    }
  }

  /// Nil where nothing is left.
  private func receive() -> (message: String, descriptor: Int32?)? {
    var (text, control) = ([UInt8](repeating: 0, count: 4096), [UInt8](repeating: 0, count: 256))
    let (count, controlCount) = unsafe text.withUnsafeMutableBytes { text in
      unsafe control.withUnsafeMutableBytes { control in
        var part = unsafe iovec(iov_base: text.baseAddress, iov_len: text.count)
        return unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          let count = unsafe recvmsg(
            notifications, &message, Int32(MSG_CMSG_CLOEXEC | MSG_DONTWAIT))
          return unsafe (count, Int(message.msg_controllen))
        }
      }
    }
    guard count > 0 else { return nil }
    return (
      String(decoding: text.prefix(count), as: UTF8.self), Self.descriptor(control, controlCount)
    )
  }

  /// The one descriptor of a control message: cmsghdr, then an int.
  private static func descriptor(_ control: [UInt8], _ count: Int) -> Int32? {
    guard count >= 20 else { return nil }
    let bytes = control[16..<20].enumerated().map { UInt32($0.element) << (8 * $0.offset) }
    return high(Int32(bitPattern: bytes.reduce(0, |)))
  }

  /// The thread's way to the manager, which it must not keep alive.
  private final class WeakBox: @unchecked Sendable {
    // Weak references are safe to read from any thread.
    weak var manager: ServiceManager?

    init(_ manager: ServiceManager) { self.manager = manager }
  }

  private static func bound(_ type: __socket_type, to path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw CallFailed("socket") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let result = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw CallFailed("bind \(path)") }
    guard let high = high(descriptor) else { throw CallFailed("fcntl") }
    return high
  }

  /// Above those that a child gets, so that none overwrites another on its way.
  private static func high(_ descriptor: Int32) -> Int32? {
    let high = fcntl(descriptor, F_DUPFD_CLOEXEC, 100)
    close(descriptor)
    return high < 0 ? nil : high
  }
}
