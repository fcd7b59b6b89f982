import CLinux
import CredctlKit
import Glibc

/// Another program in place of this one.
enum Replacement {
  /// Becomes the command, which is found in `$PATH`; comes back only where it could not be run.
  ///
  /// - Parameter environment: it holds secrets. The kernel copies it to the new program and frees
  ///   the old one's memory; where there is no new program the copy made here is wiped.
  static func failure(becoming command: [String], environment: [[UInt8]]) -> Failure {
    let words = StringVector(command.map { Array($0.utf8) })
    let variables = StringVector(environment)
    let number = unsafe -credd_become(words.pointers, variables.pointers)
    let reason = SystemError.text(of: number)
    return Failure(
      number == ENOENT ? .notFound : .cannotRun, "cannot run '\(command[0])': \(reason)")
  }
}
