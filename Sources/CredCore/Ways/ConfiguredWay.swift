/// A way that can be read from a profile's section. Keys with a wrong value count as present in its rules,
/// because they have errors already.
protocol ConfiguredWay: Sendable {
  /// The keys that only this way has.
  static var rows: [ConfigurationKey<ProfileDraft>] { get }
  /// Whether a profile has this way. The types of all backends are known.
  static func isWay(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> Bool
  /// The keys of this way.
  static func settings(of draft: ProfileDraft, _ section: INISection) -> WaySettings
  /// Whether the keys about credentials and about who may ask for others count: else each is an error.
  static var givesCredentials: Bool { get }
  /// The limits of `duration` with these keys, and their reason.
  static func durations(_ section: INISection) -> (range: ClosedRange<Int>, reason: String)

  /// Reports keys that do not fit each other.
  static func check(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader)
  /// What the profile wants of its backend; nil where it names none, or where it must not have one.
  static func reference(
    _ draft: ProfileDraft, _ section: INISection, _ reader: inout ConfigurationReader
  ) -> BackendReference?
  /// Reports what the type of the profile's backend does not fit.
  ///
  /// - Parameter type: nil without a backend.
  static func check(
    _ profile: ProfileSettings, _ section: INISection, at type: BackendType?,
    _ reader: inout ConfigurationReader)
}

extension ConfiguredWay {
  static var rows: [ConfigurationKey<ProfileDraft>] { [] }
  static var givesCredentials: Bool { true }

  static func durations(_ section: INISection) -> (range: ClosedRange<Int>, reason: String) {
    (Limits.Upstream.roleSeconds, "")
  }
}

/// The ways, each in its folder. A profile has the first that is its way.
enum WayCatalog {
  static let all: [any ConfiguredWay.Type] = [
    DerivedWay.self,
    RoleWay.self,
    TokensWay.self,
    PoolWay.self,
  ]

  static func way(
    of draft: ProfileDraft, _ section: INISection, _ reader: ConfigurationReader
  ) -> any ConfiguredWay.Type {
    all.first { $0.isWay(of: draft, section, reader) } ?? PoolWay.self
  }
}
