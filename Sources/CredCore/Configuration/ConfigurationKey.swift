/// A key of a section: a row of ``ConfigurationSchema``.
struct ConfigurationKey<Settings>: Sendable {
  typealias Assignment =
    @Sendable (
      _ value: ConfigurationValue, _ member: String, _ settings: inout Settings
    ) throws(InvalidValue) -> Void

  let reference: ConfigurationKeyReference
  let takesVariables: Bool
  /// Reads the value into the settings. `member` is what follows the dot in a family's key.
  let assign: Assignment

  /// A key whose value is one property.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value> & Sendable,
    _ syntax: ValueSyntax<Value>, standard: String? = nil, required: Bool = false,
    of types: [BackendType] = [], _ summary: String
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: standard, isRequired: required,
      summary: summary)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A key whose property is nil where the key is not written.
  init<Value>(
    _ name: String, _ property: any WritableKeyPath<Settings, Value?> & Sendable,
    _ syntax: ValueSyntax<Value>, required: Bool = false, of types: [BackendType] = [],
    _ summary: String
  ) {
    reference = ConfigurationKeyReference(
      name: name, types: types, syntax: syntax.name, standard: nil, isRequired: required,
      summary: summary)
    takesVariables = syntax.takesVariables
    assign = { value, _, settings throws(InvalidValue) in
      settings[keyPath: property] = try syntax.read(value)
    }
  }

  /// A family of keys, `header.NAME`: `family` ends in the dot.
  init(
    family: String, syntax: String, of types: [BackendType], _ summary: String,
    assign: @escaping Assignment
  ) {
    reference = ConfigurationKeyReference(
      name: family, types: types, syntax: syntax, standard: nil, isRequired: false,
      summary: summary)
    takesVariables = false
    self.assign = assign
  }
}

/// What can be said of a key without knowing its type: for messages and documentation.
struct ConfigurationKeyReference: Sendable, Equatable {
  /// Ends in a dot where the key is a family.
  let name: String
  /// The types of backend that have the key; empty for all, and for other sections.
  let types: [BackendType]
  let syntax: String
  /// What holds where the key is not written.
  let standard: String?
  let isRequired: Bool
  let summary: String

  var isFamily: Bool { name.utf8.last == UInt8(ascii: ".") }

  /// As people write it: `header.NAME`.
  var shown: String { isFamily ? name + "NAME" : name }

  func matches(_ key: String) -> Bool { isFamily ? key.hasPrefix(name) : key == name }

  /// Where the type is not known, only what all types have applies.
  func applies(to type: BackendType?) -> Bool {
    types.isEmpty || type.map(types.contains) ?? false
  }
}
