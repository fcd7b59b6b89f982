/// The version of credd with which the sandbox is released.
///
/// The sandbox takes nothing from the daemon's modules, so that it is a second opinion: a test holds
/// the two versions together.
enum SandboxVersion {
  static let current = "0.1.0"
}
