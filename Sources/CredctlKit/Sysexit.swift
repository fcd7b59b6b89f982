/// How credctl ends, in the numbers of sysexits(3), so that a script can tell "ask again later"
/// from "a person must act".
public struct Sysexit: Equatable, Sendable {
  public let code: Int32

  private init(code: Int32) {
    self.code = code
  }

  /// The answer is on standard output.
  public static let success = Sysexit(code: 0)
  /// The command line, or a value in it, is wrong (EX_USAGE).
  public static let usage = Sysexit(code: 64)
  /// A file that was handed in is not what it should be (EX_DATAERR).
  public static let dataError = Sysexit(code: 65)
  /// credd is not there, or cannot serve this until its configuration is put right
  /// (EX_UNAVAILABLE).
  public static let unavailable = Sysexit(code: 69)
  /// The answer could not be written (EX_IOERR).
  public static let outputFailed = Sysexit(code: 74)
  /// The same command may succeed later (EX_TEMPFAIL).
  public static let tryAgain = Sysexit(code: 75)
  /// The user must sign in, or may not do this (EX_NOPERM).
  public static let notPermitted = Sysexit(code: 77)
  /// `exec` found the command and could not run it, as env(1) and shells end.
  public static let cannotRun = Sysexit(code: 126)
  /// `exec` did not find the command, as env(1) and shells end.
  public static let notFound = Sysexit(code: 127)
}
