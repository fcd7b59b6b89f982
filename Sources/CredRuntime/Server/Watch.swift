internal import CredCore

/// What a connection listens to.
struct Watch {
  enum Scope {
    case all
    case profile(String)
  }

  let scope: Scope
  /// Comes back with every line.
  let id: RequestID?
  /// Until when the decision to let it listen counts.
  var grantedUntil = Instant.distantFuture

  func covers(_ name: String) -> Bool {
    switch scope {
    case .all: true
    case .profile(let profile): profile == name
    }
  }
}
