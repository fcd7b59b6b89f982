internal import CredCore

/// The profile to use if the command line names none.
public enum DefaultProfile {
  /// The daemon's default. Over a socket with a cap that has only one profile, this profile is the
  /// default.
  public static let ofDaemon = ProfileName.default

  /// `$CREDD_PROFILE`, else the daemon's default. An empty variable counts as unset. `$AWS_PROFILE`
  /// names a profile of `~/.aws/config`, and is not read.
  public static func name(environment: (String) -> String?) -> String {
    named(environment: environment) ?? ofDaemon
  }

  /// The same; nil for the daemon's default, which a request need not name.
  public static func named(environment: (String) -> String?) -> String? {
    guard let name = environment("CREDD_PROFILE"), !name.isEmpty else { return nil }
    return name
  }

  /// The refusal of a profile that is named twice.
  public static let namedTwice = "give the profile once, as a word or with '--profile'"
}
