import Foundation
import Glibc
import Testing

/// Another Unix user of the host, in whose name root can run programs.
struct OtherUser {
  let user: String
  let groups: [String]

  static let daemon = OtherUser(user: "daemon", groups: ["daemon"])
  static let games = OtherUser(user: "games", groups: ["games"])
  /// Its uid is that of all users from other user namespaces.
  static let nobody = OtherUser(user: "nobody", groups: ["nogroup"])

  static var canBe: Bool { isRoot && Programs.installed("setpriv") != nil }

  /// Whether these tests run as root, to whom credd says more than to others.
  static var isRoot: Bool { geteuid() == 0 }

  /// Whether ordinary users may make user namespaces on this host.
  static let canMakeUserNamespaces: Bool = {
    guard canBe, let unshare = Programs.installed("unshare"),
      let prefix = try? games.prefix
    else { return false }
    let trial = Process()
    trial.executableURL = URL(filePath: prefix[0])
    trial.arguments = prefix.dropFirst() + [unshare, "-Ur", "/bin/true"]
    trial.standardError = FileHandle.nullDevice
    guard (try? trial.run()) != nil else { return false }
    trial.waitUntilExit()
    return trial.terminationStatus == 0
  }()

  /// The words before a command that make it run as this user.
  var prefix: [String] {
    get throws {
      let membership =
        groups.count > 1 ? "--groups=\(groups.joined(separator: ","))" : "--clear-groups"
      return [
        try #require(Programs.installed("setpriv")), "--reuid=\(user)", "--regid=\(groups[0])",
        membership, "--",
      ]
    }
  }
}

extension TestHost {
  /// Runs a copy of credctl as another user.
  func credctl(_ copy: String, as user: OtherUser, _ arguments: String...) throws -> Outcome {
    try answer { try run(try user.prefix + [copy, "--socket", socketPath] + arguments) }
  }
}

extension TestHost {
  /// A host whose sandbox knows every user.
  ///
  /// - Parameter keys: more lines for the profile `default`.
  static func ofAnyUser(_ keys: String = "") throws -> TestHost {
    try TestHost(sandbox: ["--any-user"]) { sandbox in
      Configuration.http(url: sandbox.url + "/token")
        + Configuration.profile("default", endpoint: sandbox.url, identifier: "{user}", keys)
    }
  }

  /// The mode of a file; nil where there is none.
  static func mode(_ path: String) -> UInt32? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    return status.st_mode & 0o7777
  }
}
