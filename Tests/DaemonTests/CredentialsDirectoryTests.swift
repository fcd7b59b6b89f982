import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// `$CREDENTIALS_DIRECTORY` and the commands that credd starts: a command reads what its configuration
/// names there, and no other file of it.
@Suite(.onStage)
struct CredentialsDirectoryTests {
  /// A directory of credentials among other files.
  private struct Place {
    let folder: String
    let credentials: String

    init() throws {
      folder = try Stage.current().newFile("place")
      credentials = folder + "/credentials"
      for path in [folder, credentials, folder + "/beside", folder + "/other"] {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true)
      }
      for name in ["credentials/one", "credentials/two", "credentials/one-old", "beside/file"] {
        try Data("\(name)\n".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
      }
    }

    var environment: [String: String] { ["CREDENTIALS_DIRECTORY": credentials] }
  }

  private static let landlock = Landlock.version
  private static let reason: Comment = "this kernel has no Landlock, or one before Linux 5.19"

  /// Says of each file that `$files` names whether it could be read, then does `body`.
  private func script(_ seen: String, _ files: [String], _ body: String = ":") throws -> String {
    // The command makes no file beside the folders that lead to the credentials.
    try Data().write(to: URL(filePath: seen))
    let text = try Stage.current().newFile("token")
    let list = files.map { "'\($0)'" }.joined(separator: " ")
    let lines = """
      #!/bin/bash
      for file in \(list); do
        if cat "$file" >/dev/null 2>&1; then echo "$file: read"; else echo "$file: not read"; fi
      done >>\(seen)
      {
      \(body)
      } >>\(seen) 2>&1
      exit 77

      """
    try Data(lines.utf8).write(to: URL(filePath: text))
    return try Stage.current().executable(text)
  }

  private func host(
    _ place: Place, command: String, _ keys: String = "", under prefix: [String] = []
  ) throws -> TestHost {
    try TestHost(environment: place.environment, under: prefix) { sandbox in
      """
      [backend corp]
      type = exec
      timeout = 60s
      command = \(command)
      \(keys)
      [backend web]
      type = http
      timeout = 60s
      url = \(sandbox.url)/token
      bearer_token_file = ${CREDENTIALS_DIRECTORY}/two

      """ + Configuration.profile("default", endpoint: sandbox.url)
        + Configuration.profile("web", endpoint: sandbox.url)
        .replacing("backend = corp", with: "backend = web")
        + Configuration.profile("again", endpoint: sandbox.url)
    }
  }

  private func lines(_ path: String) throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// `LoadCredential=` under another name than the configuration's.
  @Test
  func aCredentialThatSystemdDidNotLoadIsSaidAtTheStart() throws {
    let place = try Place()
    let path = place.credentials + "/corp-token"
    let fault =
      "bearer_token_file: cannot open '\(path)': No such file or directory; systemd loaded 'one', "
      + "'one-old', 'two': name it in the unit, as LoadCredential=corp-token:FILE, and restart the service"
    let host = try TestHost(environment: place.environment) { sandbox in
      """
      [backend corp]
      type = http
      url = \(sandbox.url)/token
      bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
    try Deadline.usual.wait(for: "the warning") { host.daemon.errors.contains(fault) }
    expect(try host.ask().errorCode, equals: "BackendUnavailable")
    // The check says the same while the service runs, and what it knows when it does not.
    let command = [Programs.credd, "--config", host.configurationPath, "--check-config"]
    let check = try ChildProcess(command, environment: place.environment)
    expect(try check.wait(), equals: EX_CONFIG)
    expect(check.errors.contains(fault), "\(check.errors)")
    let stopped = ["CREDENTIALS_DIRECTORY": place.folder + "/none"]
    let other = try ChildProcess(command, environment: stopped)
    expect(try other.wait(), equals: 0, "\(other.errors)")
    expect(
      other.errors.contains("/none/corp-token exists only while credd.service runs"),
      "\(other.errors)")
  }

  @Test(.enabled(if: Self.landlock >= 2, Self.reason))
  func aCommandReadsTheCredentialThatIsNamedAndNoOther() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let (one, two) = (place.credentials + "/one", place.credentials + "/two")
    let files = [
      one, two, one + "-old", place.folder + "/beside/../credentials/two",
      place.folder + "/beside/file",
      "/etc/passwd", "/proc/self/status", "/dev/null", seen,
    ]
    let body = """
      cd \(place.folder)
      ln credentials/two beside/link && cat beside/link && echo linked
      mv credentials/two beside/moved && cat beside/moved && echo moved
      ls credentials | wc -l
      echo made >other/made && mv other/made beside/made && cat beside/made
      python3 -c 'import os; os.link("beside/made", "other/linked"); print(open("other/linked").read())'
      mktemp -p /var/tmp/ credd-XXXXXX | { read -r new; echo temporary >$new; cat $new; rm $new; }
      """
    let host = try host(place, command: "\(try script(seen, files, body)) --password-file=\(one)")
    expect(try host.ask().errorCode, equals: "BackendRejected")
    let said = try lines(seen)
    for file in files {
      let isHidden = file.contains("credentials/") && file != one
      expect(said.contains("\(file): \(isHidden ? "not read" : "read")"), "\(file): \(said)")
    }
    for word in ["linked", "moved", "credentials/two"] { expect(!said.contains(word)) }
    // It lists the folder; and everything else is as it was.
    expect(said.contains("3") && said.count { $0 == "made" } == 2 && said.contains("temporary"))
    // The daemon itself has lost nothing.
    expect(try host.ask(#"{"profile":"web"}"#)["AccessKeyId"] != nil)
  }

  /// In a user's own credd the directory may be writable.
  @Test(.enabled(if: Self.landlock >= 2, Self.reason))
  func aCommandChangesNoCredentialThatIsNotNamed() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    // Linux before 6.2 lets a command cut files off.
    let cuts = Self.landlock >= 3 ? "truncate -s 0 credentials/two" : ":"
    let body = """
      cd \(place.folder)
      echo made >beside/made && cp beside/made other/made
      (echo changed >credentials/two); (echo changed >>credentials/two); \(cuts)
      mv credentials/two credentials/three; mv beside/made credentials/two; rm credentials/two
      ln beside/file credentials/linked; ln -s /etc/passwd credentials/symbolic
      (echo new >credentials/new); mkdir credentials/folder; mkfifo credentials/pipe
      mv credentials elsewhere; rm -r credentials; mv \(place.folder) \(place.folder)-moved
      (echo named >credentials/one)
      """
    let host = try host(
      place, command: "\(try script(seen, [], body)) \(place.credentials)/one")
    expect(try host.ask().errorCode, equals: "BackendRejected")
    let said = try lines(seen)
    expect(
      try FileManager.default.contentsOfDirectory(atPath: place.credentials).sorted(),
      equals: ["one", "one-old", "two"], "\(said)")
    expect(try lines(place.credentials + "/two"), equals: ["credentials/two"], "\(said)")
    // What is named, and what lies beside, is the command's as before.
    expect(try lines(place.credentials + "/one"), equals: ["named"], "\(said)")
    expect(try lines(place.folder + "/other/made"), equals: ["made"], "\(said)")
    expect(try host.ask(#"{"profile":"web"}"#)["AccessKeyId"] != nil)
  }

  @Test(.enabled(if: Self.landlock >= 2, Self.reason))
  func aVariableNamesACredentialToo() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let files = ["one", "two"].map { place.credentials + "/" + $0 }
    let host = try host(
      place, command: try script(seen, files), "environment.PASSWORD_FILE = \(files[1])")
    expect(try host.ask().errorCode, equals: "BackendRejected")
    expect(try lines(seen), equals: ["\(files[0]): not read", "\(files[1]): read"])
  }

  @Test
  func theDirectoryItselfGivesACommandAllOfIt() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let files = ["one", "two"].map { place.credentials + "/" + $0 }
    let host = try host(
      place, command: try script(seen, files),
      "environment.CREDENTIALS_DIRECTORY = \(place.credentials)")
    expect(try host.ask().errorCode, equals: "BackendRejected")
    expect(try lines(seen), equals: files.map { "\($0): read" })
  }

  @Test(.enabled(if: Self.landlock >= 2, Self.reason))
  func aCredentialProcessReadsNoOtherCredential() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let files = ["one", "two"].map { place.credentials + "/" + $0 }
    let script = try script(seen, files)
    let host = try TestHost(environment: place.environment) { sandbox in
      """
      [backend corp]
      type = cognito
      timeout = 60s
      credential_process = \(script) \(files[0])
      cognito_endpoint = \(sandbox.url)

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
    expect(try host.ask().errorCode != nil)
    expect(try lines(seen).prefix(2), equals: ["\(files[0]): read", "\(files[1]): not read"])
  }

  /// A program that starts another one, which the kernel refuses Landlock with that errno.
  private func withoutLandlock(_ number: Int32) throws -> [String] {
    let path = try Stage.current().newFile("without.py")
    let text = """
      import ctypes, os, struct, sys
      libc = ctypes.CDLL(None, use_errno=True)
      def step(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
      # Loads the call's number; 444 to 446 get an errno, all others pass.
      code = (step(0x20, 0, 0, 0) + step(0x35, 0, 2, 444) + step(0x25, 1, 0, 446)
              + step(0x06, 0, 0, 0x50000 | int(sys.argv[1])) + step(0x06, 0, 0, 0x7fff0000))
      steps = ctypes.create_string_buffer(code)
      program = struct.pack("HxxxxxxP", 5, ctypes.addressof(steps))
      assert libc.prctl(38, 1, 0, 0, 0) == 0
      assert libc.prctl(22, 2, program, 0, 0) == 0
      os.execv(sys.argv[2], sys.argv[2:])
      """
    try Data(text.utf8).write(to: URL(filePath: path))
    return [try #require(Programs.installed("python3")), path, "\(number)"]
  }

  @Test(
    .enabled(if: PythonScript.canRun, "takes python3"),
    arguments: [(ENOSYS, "this kernel has no Landlock"), (EPERM, "SystemCallFilter=")])
  func withoutLandlockTheCommandRunsAndOneNoticeSaysSo(_ number: Int32, _ words: String) throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let two = place.credentials + "/two"
    let host = try host(
      place, command: try script(seen, [two]), under: try withoutLandlock(number))
    for profile in ["default", "again"] {
      expect(try host.ask(#"{"profile":"\#(profile)"}"#).errorCode, equals: "BackendRejected")
    }
    expect(try lines(seen), equals: ["\(two): read", "\(two): read"])
    let notices = host.log.split(separator: "\n").filter {
      $0.contains("commands can read every file of $CREDENTIALS_DIRECTORY")
    }
    expect(notices.count, equals: 1, "\(host.log)")
    expect(notices.first?.contains(words) == true && notices.first?.contains("notice") == true)
  }

  @Test(.enabled(if: Self.landlock >= 2, Self.reason))
  func aDirectoryThatIsNotThereStartsNoCommandAndTheLogSaysWhy() throws {
    let (place, seen) = (try Place(), try Stage.current().newFile("seen"))
    let host = try host(place, command: try script(seen, ["/etc/passwd"]))
    try FileManager.default.removeItem(atPath: place.credentials)
    expect(try host.ask().errorCode, equals: "BackendUnavailable")
    expect(try lines(seen).isEmpty)
    expect(
      host.log.contains(
        "no command is started: cannot hide the credentials from a command: list "
          + "'\(place.credentials)': No such file or directory"), "\(host.log)")
  }
}
