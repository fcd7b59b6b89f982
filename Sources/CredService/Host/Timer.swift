package import CredCore

/// Made by ``Clock/makeTimer(_:)``.
package protocol Timer: AnyObject {
  /// Fires once at `deadline`, or never.
  func arm(at deadline: Instant?)
}
