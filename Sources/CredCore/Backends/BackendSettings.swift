/// A `[backend NAME]` section: the service that authenticates users. Several profiles may use it.
public struct BackendSettings: Sendable, Equatable {
  public internal(set) var name: String
  /// The settings of the backend's type.
  public var kind: any BackendKind
  /// The longest time of one callback.
  public var timeout: Duration = .seconds(5)
  /// The most callbacks at the same time.
  public var maxParallel = 16
  /// Whether callbacks name the user and the calling process.
  public var sendsCaller = false
  /// The highest rate of calls. The default is Cognito's quota for `type = cognito`.
  public var rateLimit = Rate.perSecond(50)

  public init(name: String, kind: any BackendKind) {
    self.name = name
    self.kind = kind
  }

  public static func == (one: BackendSettings, other: BackendSettings) -> Bool {
    one.name == other.name && one.kind.isEqual(to: other.kind) && one.timeout == other.timeout
      && one.maxParallel == other.maxParallel && one.sendsCaller == other.sendsCaller
      && one.rateLimit == other.rateLimit
  }

  public var type: BackendType { kind.type }

  /// Whether a sign-in under way can go on with the other backend. The two backends may differ only
  /// in the actions on accounts and in the rates of calls.
  public func signsIn(like other: BackendSettings?) -> Bool {
    guard let other else { return false }
    return kind.signInSettings.isEqual(to: other.kind.signInSettings)
  }
}

/// A backend while its section is read. `type` may come after the keys that depend on it, so the
/// draft has settings of every type.
struct BackendDraft {
  var type: BackendType?
  /// The settings of every type; the kind is a placeholder.
  var common = BackendSettings(name: "", kind: CognitoBackendSettings())
  private var kinds: [any ConfiguredBackend] = BackendCatalog.all.map { $0.init() }

  /// The settings of one type.
  subscript<Kind: ConfiguredBackend>(_: Kind.Type) -> Kind {
    get { kinds.lazy.compactMap { $0 as? Kind }.first ?? Kind() }
    set {
      guard let index = kinds.firstIndex(where: { $0 is Kind }) else { return }
      kinds[index] = newValue
    }
  }

  /// The settings of the draft's type; nil without a type.
  var own: (any ConfiguredBackend)? { type.flatMap { type in kinds.first { $0.type == type } } }

  /// Nil without a type.
  func settings(name: String) -> BackendSettings? {
    guard let own else { return nil }
    var settings = common
    settings.name = name
    settings.kind = own
    return settings
  }
}

extension ConfigurationSchema {
  /// The keys of `[backend]`: first the keys of all types, then the keys of each type.
  static let backend: [ConfigurationKey<BackendDraft>] =
    common + BackendCatalog.all.flatMap { $0.keys }

  private static let common: [ConfigurationKey<BackendDraft>] = [
    .init("type", \.type, .choice, required: true),
    .init(
      "timeout", \.common.timeout, .duration(.milliseconds(100) ... .seconds(60)), standard: "5s"),
    .init("max_parallel", \.common.maxParallel, .integer(1...1024), standard: "16"),
    .init("rate_limit", \.common.rateLimit, .rate, standard: "50/s"),
    .init(
      "send_caller", \.common.sendsCaller, .yesNo, standard: "no",
      of: BackendCatalog.all.filter { $0.canSendCaller }.map { $0.type }),
  ]
}
