import CredCore
import Foundation

/// What stands in a golden file in place of what differs between runs or releases.
///
/// Times, keys, handles and pids need no mask: the clock is virtual, the upstreams of the tests count
/// what they issue, the service's random numbers have a seed, and the callers are made up.
enum Masks {
  /// The socket, whose folder has a random name.
  static func path(_ socket: String, in text: String) -> String {
    text.replacing(socket, with: "/run/credd/credd.sock")
  }

  /// credd's version.
  static func version(in text: String) -> String {
    text.replacing(Version.current, with: "VERSION")
  }
}
