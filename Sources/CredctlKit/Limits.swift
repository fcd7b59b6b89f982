internal import CredCore

/// The bounds of what credctl reads and how long it waits.
public enum ReplyLimits {
  /// Bytes of one reply. Credentials take two KiB; `status` of three thousand sessions fits.
  public static let line = 1 << 20
  /// Bytes the buffer starts with: credentials come in with one `read`.
  public static let firstBuffer = 8 << 10
}

/// Seconds credctl waits, so that no call hangs for ever.
public enum WaitLimits {
  /// For a verb that the daemon answers from memory, and on top of every longer wait.
  public static let margin = 10
  /// What the daemon waits for a sign-in where the request does not say.
  public static let defaultWait = Int(Limits.Line.defaultWait.components.seconds)
  /// The longest `wait` the daemon takes.
  public static let longestWait = Int(Limits.Line.longestWaitSeconds)
  /// The longest `min_ttl` the daemon takes.
  public static let longestLifetime = Int(Limits.Line.longestLifetimeSeconds)
  /// What `exec` and `env` demand unless told otherwise, since nothing renews what a program has in
  /// its environment: SDKs take less than 15 min for as good as expired.
  public static let usefulLifetime = Seconds(milliseconds: 15 * 60 * 1000)
  /// Daemons that one `get` asks where each ends before it answers: a restart is survived, one that
  /// goes on and on is said.
  public static let daemonsAsked = 3
  /// For `login` and `logout`, which call the organisation's servers.
  public static let upstream = 60
}

/// Bounds of what a person or a script hands in.
public enum InputLimits {
  /// Bytes of a token or password: UTF-8 has four a character at most.
  public static let secret = 4 * Limits.Upstream.tokenLength
}
