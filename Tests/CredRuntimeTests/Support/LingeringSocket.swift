import Foundation
import Glibc

/// A socket whose last close() waits: its peer takes nothing of what was sent.
final class LingeringSocket {
  private let listener: Socket
  private var sender: Socket?
  private var peer: Socket?

  init() throws {
    let (listener, port) = try Socket.listeningOnLoopback()
    let sender = try Socket(port: port)
    guard let peer = listener.accept() else { throw POSIXError(.ECONNABORTED) }
    (self.listener, self.sender, self.peer) = (listener, sender, peer)
    let chunk = [UInt8](repeating: 0, count: 1 << 16)
    while unsafe Glibc.send(sender.descriptor, chunk, chunk.count, Int32(MSG_DONTWAIT)) > 0 {}
    var patience = linger(l_onoff: 1, l_linger: 3600)
    unsafe setsockopt(
      sender.descriptor, SOL_SOCKET, SO_LINGER, &patience, socklen_t(MemoryLayout<linger>.size))
  }

  deinit {
    // With the peer gone there is nothing to wait for.
    peer = nil
    sender = nil
  }

  /// Leaves the last reference to the process that received it.
  func letGo() {
    sender = nil
  }

  /// Sends `text` and this socket with it. False where the kernel does not let it through.
  func pass(along client: Socket, with text: String, flags: Int = 0) -> Bool {
    sender.map { client.pass($0.descriptor, with: text, flags: flags) } ?? false
  }
}

extension Socket {
  /// SO_PASSRIGHTS, of which glibc has no name yet.
  static let passRights: Int32 = 83

  /// Whether the kernel knows the option, which Linux has since 6.16.
  static let canRefuseDescriptors: Bool = {
    let trial = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(trial) }
    var (passes, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    return unsafe getsockopt(trial, SOL_SOCKET, passRights, &passes, &length) == 0
  }()

  /// Sends `text` and a descriptor with it. False where the kernel does not let it through.
  func pass(_ passed: Int32, with text: String, flags: Int = 0) -> Bool {
    var text = Array(text.utf8)
    // One header of cmsg(3) and one descriptor, padded.
    var control = [UInt8](repeating: 0, count: 24)
    unsafe control.withUnsafeMutableBytes { bytes in
      unsafe bytes.storeBytes(of: 20, as: Int.self)
      unsafe bytes.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
      unsafe bytes.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
      unsafe bytes.storeBytes(of: passed, toByteOffset: 16, as: Int32.self)
    }
    return unsafe text.withUnsafeMutableBytes { text in
      unsafe control.withUnsafeMutableBytes { control in
        var part = unsafe iovec(iov_base: text.baseAddress, iov_len: text.count)
        return unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = control.baseAddress
          unsafe message.msg_controllen = control.count
          return unsafe sendmsg(descriptor, &message, Int32(flags)) >= 0
        }
      }
    }
  }
}
