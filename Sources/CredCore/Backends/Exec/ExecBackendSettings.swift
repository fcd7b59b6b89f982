/// A backend of type `exec`: a program that reads its standard input, without a shell.
public struct ExecBackendSettings: Sendable, Equatable {
  /// The program's absolute path and its arguments.
  public var command: [String]
  /// Variables added to a minimal environment. A value may be a key.
  public var environment: [String: Secret] = [:]
  /// Further variables, in the order of the file.
  public var environmentFiles: [ValueFile] = []

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
      + environmentFiles.compactMap(\.namedFile)
  }

  public var valueKeys: [String] {
    environment.keys.filter { !Self.openVariables.contains($0) && !$0.hasPrefix("LC_") }.sorted()
      .map { "environment.\($0)" }
  }

  /// Variables that hold no secret: places, languages and regions. The URL of a proxy may have a password.
  private static let openVariables: Set = [
    "PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "AWS_REGION", "AWS_DEFAULT_REGION",
    "CREDENTIALS_DIRECTORY",
  ]

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] { command }
}

extension ExecBackendSettings: ConfiguredBackend {
  static let canSendCaller = true

  static let rows: [ConfigurationKey<ExecBackendSettings>] = [
    .init("command", \.command, .command, required: true),
    .init(family: "environment.", syntax: "a text") { value, name, settings throws(InvalidValue) in
      try settings.checkVariable(name, beside: settings.environmentFiles.map(\.name))
      settings.environment[name] = Secret(try value.text(mayBeEmpty: true))
    },
    .init(filesOf: "environment_file.") { file, settings throws(InvalidValue) in
      try settings.checkVariable(file.name, beside: Array(settings.environment.keys))
      settings.environmentFiles.append(file)
    },
  ]

  /// - Parameter others: the names of the other family. Case does not count between the two: one of them
  ///   is a mistake.
  /// - Throws: if it can be no further variable.
  private func checkVariable(_ name: String, beside others: [String]) throws(InvalidValue) {
    guard name.isVariableName else { throw InvalidValue("not a variable's name") }
    guard !others.contains(where: { $0.lowercased() == name.lowercased() }) else {
      throw InvalidValue(
        "give the variable by 'environment.' or by 'environment_file.', not by both")
    }
    guard environment.count + environmentFiles.count < Limits.Configuration.environmentVariables
    else {
      throw InvalidValue("more than \(Limits.Configuration.environmentVariables) variables")
    }
  }
}
