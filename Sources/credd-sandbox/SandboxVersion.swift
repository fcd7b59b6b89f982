/// The version of credd with which the sandbox is released.
///
/// The sandbox uses nothing of the daemon's modules, so that it is independent. A test checks that
/// the two versions are equal.
enum SandboxVersion {
  static let current = "0.2.0"
}
