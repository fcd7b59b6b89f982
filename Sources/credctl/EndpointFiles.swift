import CredctlKit
import Glibc

/// The files of this host that say what became of the endpoint's unit.
struct EndpointFiles {
  /// The folder in which they lie: the root, or a folder of a test.
  var root = ""

  /// Whether systemd opens the endpoint when the host starts.
  var isEnabled: Bool {
    var facts = stat()
    return unsafe lstat(root + EndpointUnit.link, &facts) == 0
  }

  /// The user who listens at its port; nil if nobody does.
  var holder: String? {
    guard let uid = PortHolder.uid(at: EndpointUnit.port, beneath: root) else { return nil }
    let users = try? SecretInput.contents(ofFile: root + "/etc/passwd", limit: 4 << 20)
    return LocalUsers.words(for: uid, in: users ?? [])
  }
}

extension PortHolder {
  /// The uid of the user who listens at a port, according to the kernel.
  ///
  /// - Parameter root: the folder in which `/proc` lies.
  static func uid(at port: UInt16, beneath root: String = "") -> UInt32? {
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
      if let table = try? SecretInput.contents(ofFile: root + path, limit: 4 << 20),
        let uid = uid(at: port, in: table)
      {
        return uid
      }
    }
    return nil
  }
}
