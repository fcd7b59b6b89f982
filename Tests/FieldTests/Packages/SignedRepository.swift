import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What `make repo` makes of the built packages, signed by a key of its own, on a web server.
struct SignedRepository {
  let folder: String
  let url: String

  init() throws {
    let stage = try Stage.current()
    folder = stage.newFile("repo")
    let version = try BuiltPackage.shell("scripts/version").output.trimmingCharacters(in: .newlines)
    let outcome = try BuiltPackage.shell(
      """
      export GNUPGHOME=$1
      mkdir --mode=700 "$GNUPGHOME"
      trap 'gpgconf --kill gpg-agent' EXIT
      gpg --batch --quiet --passphrase '' --quick-generate-key 'a test <test@test.invalid>' ed25519 sign never
      key=$(gpg --list-secret-keys --with-colons | awk -F : '$1 == "fpr" { print $10; exit }')
      scripts/build-repo "$2" "$key" "$3"
      """, stage.newFile("gnupg"), version, folder)
    try #require(outcome.status == 0, "\(outcome)")
    url = try Self.serve(folder)
  }

  private static func serve(_ folder: String) throws -> String {
    let port = try FreePort.any()
    let server = try ChildProcess([
      Programs.installed("python3") ?? "python3", "-m", "http.server", "--bind", "127.0.0.1",
      "--directory", folder, "\(port)",
    ])
    try Deadline.usual.wait(for: "the web server") {
      try #require(server.status == nil, "\(server.errors)")
      let asked = try BuiltPackage.shell("exec 3<>/dev/tcp/127.0.0.1/$1", "\(port)")
      return asked.status == 0
    }
    return "http://127.0.0.1:\(port)"
  }

  /// Changes one byte of a package's content.
  func damage(_ path: String) throws {
    let file = URL(filePath: "\(folder)/\(path)")
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count - 100] ^= 1
    try bytes.write(to: file)
  }

  /// The path of a package below the folder that is `deb/pool` or `rpm/PROCESSOR`.
  func package(in place: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(place)")
    let name = try #require(names.first { $0.firstMatch(of: /^credd[-_][0-9]/) != nil })
    return "\(place)/\(name)"
  }
}
