import CLinux
import CredctlKit

/// One run of credctl. The buffers that requests and replies went through are wiped before it ends;
/// what a parse copied goes with the process, whose memory nobody else may read or dump.
enum Program {
  static func run(_ arguments: [String]) -> Sysexit {
    credd_harden_client()
    do {
      switch try GetOptions.invocation(of: arguments) {
      case .get(let options): try get(options)
      case .other: try Credctl.run(arguments)
      }
      return .success
    } catch {
      StandardStream.error.report(error.line)
      return error.status
    }
  }

  /// `credctl get`: what `credential_process` runs thousands of times, so it touches neither
  /// Foundation nor the argument parser.
  static func get(_ options: GetOptions) throws(Failure) {
    try credentials(options).print()
  }

  static func credentials(_ options: GetOptions) throws(Failure) -> Answer {
    try Client(socketArgument: options.socket).askAcrossRestart(
      options.request, for: .credentials, profile: options.profile,
      seconds: options.patience.timeout)
  }
}
