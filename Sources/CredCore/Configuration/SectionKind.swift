/// The sections a configuration has.
enum SectionKind: String, CaseIterable {
  case daemon, backend, profile

  /// How its header is written.
  var header: String { self == .daemon ? "[daemon]" : "[\(rawValue) NAME]" }
}
