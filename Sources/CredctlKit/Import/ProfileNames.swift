internal import CredCore

/// Gives each pool of a file a profile's name of its own.
struct ProfileNames {
  private let wanted: String?
  private let isOnly: Bool
  private var given: Set<String> = []

  init(wanted: String?, count: Int) {
    self.wanted = wanted
    isOnly = count == 1
  }

  /// The wanted name, else `default`, for the only pool and for the one called `Default`; the
  /// others' own names follow it.
  mutating func next(for pool: String?) -> String {
    var name = wanted ?? ProfileName.default
    if let pool, !isOnly, pool != "Default" {
      name = [wanted, Self.wellFormed(pool)].compactMap { $0 }.joined(separator: "-")
    }
    return unused(String(name.prefix(Limits.Configuration.profileNameLength)))
  }

  private mutating func unused(_ name: String) -> String {
    var candidate = name
    var number = 2
    while !given.insert(candidate).inserted {
      let suffix = "-\(number)"
      candidate = name.prefix(Limits.Configuration.profileNameLength - suffix.utf8.count) + suffix
      number += 1
    }
    return candidate
  }

  /// Whatever a profile's name cannot hold becomes a hyphen.
  private static func wellFormed(_ text: String) -> String {
    let name = String(
      text.unicodeScalars.map { String($0).isProfileName ? Character($0) : "-" })
    return name.isEmpty ? "pool" : name
  }
}
