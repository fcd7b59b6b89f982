import Glibc
import NIOCore
import NIOPosix

extension Channel {
  /// Makes the next close a reset (RST) instead of an orderly end: lingering for no time. A Unix
  /// socket knows no reset, and TLS says goodbye first: there the lack of a reply has to do.
  func resetOnClose() {
    let socket = self as? any SocketOptionProvider
    _ = socket?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
  }
}
