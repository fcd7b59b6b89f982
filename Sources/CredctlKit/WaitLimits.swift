internal import CredCore

/// The limits of a reply.
public enum ReplyLimits {
  /// Bytes of one reply. Credentials take two KiB; `status` of three thousand sessions fits.
  public static let line = 1 << 20
  /// Bytes of the first buffer. One `read` takes a reply with credentials.
  public static let firstBuffer = 4 << 10
}

/// How many seconds credctl waits, so that no command hangs for ever.
public enum WaitLimits {
  /// The wait for a verb that the daemon answers from memory. It is added to every longer wait.
  public static let margin = 10
  /// How long the daemon waits for a sign-in if the request does not say it. It is not computed
  /// from `Limits.Line.defaultWait`, because that would load 128-bit arithmetic at every `get`.
  public static let defaultWait = 5
  /// The longest `wait` that the daemon accepts.
  public static let longestWait = Int(Limits.Line.longestWaitSeconds)
  /// The longest `min_ttl` that the daemon accepts.
  public static let longestLifetime = Int(Limits.Line.longestLifetimeSeconds)
  /// The least lifetime for `exec` and `env` without `--min-ttl`. Credentials in an environment are
  /// never renewed, and SDKs treat credentials with less than 15 min left as expired.
  public static let usefulLifetime = Seconds(milliseconds: 15 * 60 * 1000)
  /// The wait of `ping` without `--timeout`. A daemon that works answers much faster.
  public static let ping = 5

  /// Reads the value of `ping`'s `--timeout`.
  public static func pingTimeout(_ text: String) throws(Failure) -> Int {
    guard let seconds = Int(text), (1...longestWait).contains(seconds) else {
      throw Failure(
        .usage, "option '--timeout' takes whole seconds from 1 to \(longestWait), not '\(text)'")
    }
    return seconds
  }

  /// How many daemons one `get` asks if each ends before it answers. So a `get` survives a restart,
  /// and reports a daemon that ends again and again.
  public static let daemonsAsked = 3
  /// How long `endpoint` waits for the first credentials of a session, of which it wants the region.
  public static let firstIdentity = Seconds(milliseconds: 2000)
  /// The wait of `login` and `logout`, which call the organisation's servers.
  public static let upstream = 60
}

/// The limits of input that a person or a script gives to credctl.
public enum InputLimits {
  /// Bytes of a token or password; a character takes at most four bytes of UTF-8.
  public static let secret = 4 * Limits.Upstream.tokenLength
}
