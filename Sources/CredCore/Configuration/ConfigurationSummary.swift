/// What `--check-config` says of a configuration without errors: which files were read, and what is in
/// them.
public struct ConfigurationSummary: CustomStringConvertible {
  private let files: [String]
  private let profiles: Int
  private let backends: Int
  private let sockets: Int
  private let warnings: Int
  private let unmade: Int

  /// - Parameters:
  ///   - warnings: of the reading, and of the files that it names.
  ///   - unmade: checks that could not be made.
  public init(_ reading: ConfigurationReading, warnings: Int, unmade: Int) {
    files = reading.files
    profiles = reading.understood.profiles.count
    backends = reading.understood.backends.count
    sockets = reading.understood.sockets.count
    self.warnings = warnings
    self.unmade = unmade
  }

  public var description: String {
    var parts = ["no errors"]
    if warnings > 0 { parts.append(Self.count(warnings, "warning")) }
    if unmade > 0 { parts.append("\(Self.count(unmade, "check")) not made") }
    let end = parts.joined(separator: ", ")
    guard profiles > 0 else { return "\(source): no profile, so nothing can be asked for; \(end)" }
    parts = [Self.count(profiles, "profile"), Self.count(backends, "backend")]
    if sockets > 0 { parts.append(Self.count(sockets, "socket")) }
    return "\(source): \(parts.joined(separator: ", ")), \(end)"
  }

  private var source: String {
    let main = files.first ?? ""
    guard files.count > 1 else { return main }
    return "\(main) and \(Self.count(files.count - 1, "file")) of \(main).d"
  }

  private static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}
