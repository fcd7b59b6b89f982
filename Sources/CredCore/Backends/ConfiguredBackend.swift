/// A type of backend that can be read from its section.
protocol ConfiguredBackend: BackendKind {
  /// Settings before the keys are read: required ones have placeholders.
  init()

  /// The type's keys, in the order in which missing ones are reported.
  static var rows: [ConfigurationKey<Self>] { get }

  /// Whether callbacks can name the caller: the key `send_caller`.
  static var canSendCaller: Bool { get }

  /// Reports keys that do not fit each other. A key with a wrong value counts as present, because
  /// the value is an error already.
  func check(_ section: INISection, _ reader: inout ConfigurationReader)
}

extension ConfiguredBackend {
  static var canSendCaller: Bool { false }
  func check(_ section: INISection, _ reader: inout ConfigurationReader) {}

  /// The type's keys, for a section in which `type` may come after them.
  static var keys: [ConfigurationKey<BackendDraft>] {
    rows.map { row in
      ConfigurationKey(row.reference.of(type), takesVariables: row.takesVariables) {
        value, member, draft throws(InvalidValue) in
        try row.assign(value, member, &draft[Self.self])
      }
    }
  }
}
