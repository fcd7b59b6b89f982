/// The types of backends. A new one is a folder beside this file, and a line here.
enum BackendCatalog {
  static let all: [any ConfiguredBackend.Type] = [
    HTTPBackendSettings.self,
    ExecBackendSettings.self,
    CognitoBackendSettings.self,
    AWSSampleBackendSettings.self,
    UserPoolSettings.self,
    OIDCSettings.self,
  ]
}

/// The `type` of a `[backend NAME]` section: the protocol of the token callback.
public struct BackendType: RawRepresentable, CaseIterable, Hashable, Sendable {
  /// The word of the configuration.
  public let rawValue: String

  /// Makes a type; only for the type's own folder.
  init(_ word: String) {
    rawValue = word
  }

  /// Returns nil for a word that names no type.
  public init?(rawValue: String) {
    guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = known
  }

  /// All types, in the order in which messages name them.
  public static var allCases: [BackendType] { BackendCatalog.all.map { $0.type } }

  /// The types at which users have their own accounts.
  static var providers: [BackendType] {
    BackendCatalog.all.compactMap { ($0 as? any ProviderKind.Type)?.type }
  }

  /// The traits of the provider, if backends of this type are providers; else nil.
  var provider: ProviderTraits? {
    BackendCatalog.all.lazy.filter { $0.type == self }
      .compactMap { ($0 as? any ProviderKind.Type)?.traits }.first
  }
}
