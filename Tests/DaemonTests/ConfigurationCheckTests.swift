import Foundation
import Glibc
import Testing

/// `credd --check-config`.
@Suite(.onStage)
struct ConfigurationCheckTests {
  private func check(_ text: String) throws -> (process: ChildProcess, file: String) {
    let file = try Stage.current().newFile("credd.conf")
    try Data(text.utf8).write(to: URL(filePath: file))
    return (try check(file: file), file)
  }

  private func check(file: String, _ environment: [String: String] = [:]) throws -> ChildProcess {
    let process = try ChildProcess(
      [Programs.credd, "--config", file, "--check-config"], environment: environment)
    try process.wait()
    return process
  }

  @Test
  func goodFileIsSilence() throws {
    let sandbox = try Sandbox()
    let process = try check(Configuration.usual(sandbox)).process
    #expect(process.status == 0)
    #expect(process.output.isEmpty)
    #expect(process.errors.isEmpty)
  }

  @Test
  func exampleIsSilence() throws {
    let example = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../contrib/credd.conf.example").standardizedFileURL.path
    let process = try check(file: example, ["CREDENTIALS_DIRECTORY": "/run/credentials/credd"])
    #expect(process.status == 0)
    #expect(process.errors.isEmpty)
  }

  /// systemd sets CREDENTIALS_DIRECTORY for the service alone, not for a check at the prompt.
  @Test
  func exampleIsSilenceAtThePrompt() throws {
    let example = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../contrib/credd.conf.example").standardizedFileURL.path
    let process = try check(file: example)
    #expect(process.errors.isEmpty)
    #expect(process.status == 0)
  }

  @Test
  func allErrorsAreShownAtOnceWithTheirLines() throws {
    let (process, file) = try check(
      """
      [daemon]
      max_conections = 5
      max_connections_per_user = many
      [backend corp]
      type = htttp
      [profile work]
      identity_pool_id = nonsense
      developer_provider = login.example.app
      backend = corpse
      backend = corp
      [nothing]
      stray
      """)
    #expect(process.status == EX_CONFIG)
    #expect(process.output.isEmpty)
    let lines = process.errors.split(separator: "\n")
    let prefix = "\(file):"
    #expect(lines.allSatisfy { $0.hasPrefix(prefix) }, "\(process.errors)")
    func message(_ line: Int) -> Substring {
      lines.first { $0.hasPrefix("\(prefix)\(line): ") } ?? ""
    }
    #expect(message(2).contains("max_connections"))
    #expect(message(3).contains("max_connections_per_user"))
    #expect(message(5).contains("'http'"))
    #expect(message(7).contains("identity_pool_id"))
    #expect(message(10).contains("backend"))
    #expect(!message(11).isEmpty)
    #expect(!message(12).isEmpty)
  }

  @Test
  func fragmentsAreReadToo() throws {
    let sandbox = try Sandbox()
    let file = try Stage.current().newFile("credd.conf")
    try FileManager.default.createDirectory(
      atPath: file + ".d", withIntermediateDirectories: true)
    try Data(Configuration.usual(sandbox).utf8).write(to: URL(filePath: file))
    try Data("[profile other]\nidentity_pool = x\n".utf8)
      .write(to: URL(filePath: file + ".d/10-other.conf"))
    let process = try check(file: file)
    #expect(process.status == EX_CONFIG)
    #expect(process.errors.contains("\(file).d/10-other.conf:2: "))
    #expect(process.errors.contains("identity_pool_id"))
  }

  @Test
  func missingFileIsNamed() throws {
    let file = try Stage.current().newFile("credd.conf")
    let process = try check(file: file)
    #expect(process.status == EX_CONFIG)
    #expect(process.errors.contains(file))
    #expect(process.errors.split(separator: "\n").count == 1)
  }

  @Test
  func daemonDoesNotStartWithAWrongFile() throws {
    let (_, file) = try check("[profile work]\n")
    let path = try Stage.current().newFile("s")
    let daemon = try ChildProcess([Programs.credd, "--config", file, "--socket", path])
    #expect(try daemon.wait() == EX_CONFIG)
    #expect(daemon.errors.contains("\(file):1: "))
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
