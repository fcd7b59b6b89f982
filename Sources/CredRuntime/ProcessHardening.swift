internal import CLinux
internal import Glibc

/// The first steps of a process that holds secrets.
public enum ProcessHardening {
  /// Variables that make libraries write files: with the secrets of TLS (libcurl, GnuTLS, OpenSSL
  /// from 3.5), HTTP/3 (libcurl, OpenSSL), every allocation (OpenSSL), Kerberos (libkrb5, for
  /// libcurl).
  ///
  /// OPENSSL_CONF, OPENSSL_MODULES and OPENSSL_ENGINES stay, because an administrator sets the
  /// host's rules for TLS with them. They can load code, but a person who sets a service's
  /// environment chooses its code anyway.
  private static let writingVariables = [
    "SSLKEYLOGFILE", "QLOGDIR", "OPENSSL_MALLOC_FD", "KRB5_TRACE",
  ]

  /// Removes variables that make libraries write files, opens missing standard streams, and forbids
  /// core dumps and tracing. Makes a file at its limit (RLIMIT_FSIZE) an error instead of a signal.
  /// Keeps every page of this process out of swap, including pages of libraries and stacks. Call it
  /// before reading anything that may be secret.
  ///
  /// - Returns: why memory is not locked, if the kernel refuses that. In a user's service it does,
  ///   because the limit there is 8 MiB. Freed memory is wiped even then.
  /// - Throws: if the kernel refuses the rest. A program that cannot protect secrets must not read
  ///   any.
  public static func apply() throws(SystemError) -> SystemError? {
    for name in writingVariables { _ = unsafe unsetenv(name) }
    try SystemError.check(credd_open_standard_streams(), "open /dev/null")
    try SystemError.check(credd_harden(), "forbid core dumps")
    // SIGXCPU keeps its effect: whoever limits processor time wants the end.
    signal(SIGXFSZ, SIG_IGN)
    let locked = credd_lock_memory()
    return locked < 0 ? SystemError("lock memory", number: -locked) : nil
  }

  /// Prepares this process for a daemon: raises the descriptor limit, makes a closed peer an error
  /// instead of a signal, and keeps SIGTERM during the start pending until the loop runs.
  public static func prepareDaemon() throws(SystemError) {
    try SystemError.check(credd_raise_descriptor_limit(), "raise the descriptor limit")
    signal(SIGPIPE, SIG_IGN)
    for signal in [SIGTERM, SIGINT, SIGHUP] { EventLoop.block(signal) }
  }

  /// Whether this process may serve every user of the host. Then it lets every user connect.
  public static var isRoot: Bool { geteuid() == 0 }
}
