internal import CLinux
internal import Glibc

/// The first steps of a process that holds secrets.
public enum ProcessHardening {
  /// By which libraries write files: the secrets of TLS (libcurl, GnuTLS, OpenSSL from 3.5), HTTP/3
  /// (libcurl, OpenSSL), every allocation (OpenSSL), Kerberos (libkrb5, of libcurl).
  ///
  /// OPENSSL_CONF, OPENSSL_MODULES and OPENSSL_ENGINES stay. An administrator sets the host's rules for
  /// TLS by them. They load code, but the person who sets a service's environment chooses its code anyway.
  private static let writingVariables = [
    "SSLKEYLOGFILE", "QLOGDIR", "OPENSSL_MALLOC_FD", "KRB5_TRACE",
  ]

  /// Removes variables by which libraries would write files, opens missing standard streams, forbids core dumps and tracing, and keeps every page of this
  /// process out of swap, including pages of libraries and stacks. Call it before anything is read
  /// that may be secret.
  ///
  /// - Returns: why memory is not locked, if the kernel refuses, as it does in a user's service: the
  ///   limit is 8 MiB there. Freed memory is wiped all the same.
  /// - Throws: where the kernel refuses the rest; a program that cannot protect its secrets reads
  ///   none.
  public static func apply() throws(SystemError) -> SystemError? {
    for name in writingVariables { _ = unsafe unsetenv(name) }
    try SystemError.check(credd_open_standard_streams(), "open /dev/null")
    try SystemError.check(credd_harden(), "forbid core dumps")
    let locked = credd_lock_memory()
    return locked < 0 ? SystemError("lock memory", number: -locked) : nil
  }

  /// Makes this process a daemon's: raises the descriptor limit; a closed peer is an error, not a
  /// signal; SIGTERM during the start is handled once the loop runs.
  public static func prepareDaemon() throws(SystemError) {
    try SystemError.check(credd_raise_descriptor_limit(), "raise the descriptor limit")
    signal(SIGPIPE, SIG_IGN)
    for signal in [SIGTERM, SIGINT, SIGHUP] { EventLoop.block(signal) }
  }

  /// Whether this process may serve every user of the host, and so lets every user connect.
  public static var isRoot: Bool { geteuid() == 0 }
}

/// A failed system call: which one, and the errno.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted, as a person would say it: `bind /run/credd/credd.sock`.
  public var operation: String
  /// The errno value.
  public var number: Int32

  public init(_ operation: String, number: Int32) {
    self.operation = operation
    self.number = number
  }

  /// The errno in words.
  var reason: String { unsafe String(cString: strerror(number)) }

  public var description: String { "\(operation): \(reason)" }

  /// Turns the `-errno` convention of the C shims and libsystemd into a typed error.
  @discardableResult
  static func check<Value: SignedInteger>(
    _ result: Value, _ operation: @autoclosure () -> String
  ) throws(SystemError) -> Value {
    guard result < 0 else { return result }
    throw SystemError(operation(), number: Int32(-result))
  }
}
