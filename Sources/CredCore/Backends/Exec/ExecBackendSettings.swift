/// A backend of type `exec`: a program that reads its standard input, without a shell.
public struct ExecBackendSettings: Sendable, Equatable {
  /// The program's absolute path and its arguments.
  public var command: [String]
  /// Variables added to a minimal environment. A value may be a key.
  public var environment: [String: Secret] = [:]

  public init(command: [String]) {
    self.command = command
  }

  init() {
    self.init(command: [])
  }
}

extension BackendType {
  public static let exec = BackendType("exec")
}

extension ExecBackendSettings: BackendKind {
  public static var type: BackendType { .exec }
  public static var storedWord: String { "exec" }

  public var namedFiles: [NamedFile] {
    [NamedFile("command", command.first, .program)].compactMap(\.self)
  }

  public func place(of issuer: ProviderIssuer?) -> [String?] { command }
}

extension ExecBackendSettings: ConfiguredBackend {
  static let canSendCaller = true

  static let rows: [ConfigurationKey<ExecBackendSettings>] = [
    .init("command", \.command, .command, required: true),
    .init(family: "environment.", syntax: "a text") { value, name, settings throws(InvalidValue) in
      guard name.isVariableName else { throw InvalidValue("not a variable's name") }
      guard settings.environment.count < Limits.Configuration.environmentVariables else {
        throw InvalidValue("more than \(Limits.Configuration.environmentVariables) variables")
      }
      settings.environment[name] = Secret(try value.text(mayBeEmpty: true))
    },
  ]
}
