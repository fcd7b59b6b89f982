/// A backend of type `exec`: a program asked on its standard input, without a shell.
public struct ExecBackendSettings: Sendable, Equatable {
  /// The program's absolute path and its arguments.
  public var command: [String]
  /// What the program gets besides a minimal environment. A value may be a key.
  public var environment: [String: Secret] = [:]

  public init(command: [String]) {
    self.command = command
  }
}
