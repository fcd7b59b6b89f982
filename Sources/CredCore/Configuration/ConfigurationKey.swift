/// A key of a section: a row of ``ConfigurationSchema``.
struct ConfigurationKey<Settings>: Sendable {
  typealias Assignment =
    @Sendable (
      _ value: ConfigurationValue, _ member: String, _ settings: inout Settings
    ) throws(InvalidValue) -> Void

  let reference: ConfigurationKeyReference
  let takesVariables: Bool
  /// Reads the value into the settings. `member` is the part of a family's key after the dot.
  let assign: Assignment

  /// A key for a property that has a default.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value> & Sendable,
    _ syntax: ValueSyntax<Value>, standard: String? = nil, required: Bool = false,
    of types: [BackendType] = []
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: standard, isRequired: required)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A key for a property that is nil without the key.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value?> & Sendable,
    _ syntax: ValueSyntax<Value>, standard: String? = nil, required: Bool = false
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: [], syntax: syntax.name, standard: standard, isRequired: required)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A family of keys such as `header.NAME`. `family` ends in the dot.
  init(
    family: String, syntax: String, takesVariables: Bool = false, assign: @escaping Assignment
  ) {
    reference = ConfigurationKeyReference(
      name: family, types: [], syntax: syntax, standard: nil, isRequired: false)
    self.takesVariables = takesVariables
    self.assign = assign
  }

  /// A family of keys such as `header_file.NAME`, each with the path of a file that holds a value.
  init(
    filesOf family: String,
    assign: @escaping @Sendable (ValueFile, inout Settings) throws(InvalidValue) -> Void
  ) {
    let path = ValueSyntax<String>.path
    self.init(family: family, syntax: path.name, takesVariables: true) {
      value, name, settings throws(InvalidValue) in
      try assign(ValueFile(key: family + name, name: name, path: path.read(value)), &settings)
    }
  }

  /// A key that is read into other settings.
  init(
    _ reference: ConfigurationKeyReference, takesVariables: Bool, assign: @escaping Assignment
  ) {
    self.reference = reference
    self.takesVariables = takesVariables
    self.assign = assign
  }
}

/// The parts of a key that do not depend on the type of its value, for messages and documentation.
struct ConfigurationKeyReference: Sendable, Equatable {
  /// A family's name ends in a dot.
  let name: String
  /// The types of backend that have the key; empty for all, and for other sections.
  let types: [BackendType]
  let syntax: String
  /// The value that applies if the key is missing.
  let standard: String?
  let isRequired: Bool

  var isFamily: Bool { name.utf8.last == UInt8(ascii: ".") }

  /// The key as the manual writes it: `header.NAME`.
  var shown: String { isFamily ? name + "NAME" : name }

  func matches(_ key: String) -> Bool { isFamily ? key.hasPrefix(name) : key == name }

  /// The key of one type of backend.
  func of(_ type: BackendType) -> ConfigurationKeyReference {
    ConfigurationKeyReference(
      name: name, types: [type], syntax: syntax, standard: standard, isRequired: isRequired)
  }

  /// Whether backends of this type have the key. For nil: whether backends of all types have it.
  func applies(to type: BackendType?) -> Bool {
    types.isEmpty || type.map(types.contains) ?? false
  }
}
