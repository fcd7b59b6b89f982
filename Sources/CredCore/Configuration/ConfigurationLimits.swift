/// What a configuration may measure. Each number is far above honest use and keeps a file that is
/// not a configuration at all (a core dump, a log) from costing more than a moment.
public enum ConfigurationLimits {
  /// Bytes of one file: 10,000 profiles of some 20 lines spread over a few files.
  public static let fileBytes = 1 << 20
  /// Bytes of one line without its end: the longest value is a list of names or an ARN of 2,048.
  public static let lineBytes = 8 << 10
  /// Files read together: the main file and what lies in its `.d` directory.
  public static let files = 1024
  /// Profiles in all files.
  public static let profiles = 10_000
  /// Backends in all files. Profiles share them, so few are ever needed.
  public static let backends = 1000
  /// Diagnostics reported one by one; the rest is counted.
  public static let diagnostics = 1000
  /// Bytes of a path, `PATH_MAX` less its NUL.
  public static let pathBytes = 4095
  /// Bytes of a Unix socket's path, `sun_path` less its NUL.
  public static let socketPathBytes = 107
  /// Words of a command, the program included.
  public static let commandWords = 256
  /// Headers of one backend.
  public static let headers = 64
  /// Variables of one program.
  public static let environmentVariables = 256
  /// Bytes of a user's or group's name (`LOGIN_NAME_MAX`).
  public static let accountNameBytes = 256
  /// Characters of a developer user identifier (Cognito API reference, LookupDeveloperIdentity).
  public static let userIdentifierLength = 1024
  /// Principal tags of one token (Cognito API reference, GetOpenIdTokenForDeveloperIdentity).
  public static let principalTags = 50
  /// Managed policies of one session (STS API reference, AssumeRoleWithWebIdentity).
  public static let policyARNs = 10
}
