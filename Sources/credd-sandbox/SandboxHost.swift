import SandboxKit

/// The one sandbox of the process, and how many connections use it.
///
/// Everything runs on one event loop, so that neither needs a lock.
final class SandboxHost {
  static let maximumConnections = 2048

  var sandbox: Sandbox
  private var connections = 0

  init(_ sandbox: Sandbox) {
    self.sandbox = sandbox
  }

  /// False where a further connection is to be closed at once.
  var hasRoom: Bool { connections < SandboxHost.maximumConnections }

  func connectionOpened() {
    connections += 1
    sandbox.connectionOpened()
  }

  func connectionClosed() {
    connections -= 1
    sandbox.connectionClosed()
  }
}
