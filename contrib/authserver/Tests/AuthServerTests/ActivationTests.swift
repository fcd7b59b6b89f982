import AuthCore
import AuthTestSupport
import Foundation
import Glibc
import Testing

/// A server that is started with the socket on which it answers, as systemd does it.
struct ActivatedServer: ServerClient {
  let pid: pid_t
  let socket: String
  let log: String

  /// By `systemd-socket-activate`, which becomes the server at the first connection. A shell starts it and
  /// ends: Foundation would take it for ended, because it closes all descriptors but the socket.
  init(_ programs: Programs) throws {
    socket = programs.folder.path + "/activated"
    log = socket + ".log"
    let configuration = try programs.configuration(
      listen: "systemd", admin: socket + "-admin")
    let script = """
      systemd-socket-activate --listen="$1" --setenv=AWS_ACCESS_KEY_ID --setenv=AWS_SECRET_ACCESS_KEY \
        "$2" serve --config "$3" >"$4" 2>&1 </dev/null &
      echo $!
      """
    let text = try Command.run(
      "/bin/bash", ["-c", script, "bash", socket, Programs.program, configuration, log],
      environment: Programs.environment)
    guard let pid = pid_t(text.trimmingCharacters(in: .newlines)) else { throw CommandFailed(text) }
    self.pid = pid
    let socket = socket
    _ = try Programs.wait("systemd-socket-activate: " + log) {
      FileManager.default.fileExists(atPath: socket) ? true : nil
    }
  }

  /// The program that runs under the pid; nil when it has ended.
  var program: String? {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/exe"))
      .map { URL(fileURLWithPath: $0).lastPathComponent }
  }

  func stop() throws {
    _ = Glibc.kill(pid, SIGTERM)
    _ = try Programs.wait("the server's end: " + log) { program == nil ? true : nil }
  }
}

extension ProgramTests {
  @Test func aServerAnswersOnTheSocketThatItWasStartedWith() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let token = try programs.enrol("web1", "--vouches", "alice")
    let server = try ActivatedServer(programs)
    defer { _ = Glibc.kill(server.pid, SIGKILL) }
    #expect(server.program == "systemd-socket-activate")
    // The first connection starts it, and is answered.
    #expect(try server.callback(token, "alice").status == 200)
    #expect(server.program == "credd-authserver")
    #expect(try server.callback(token, "bob").status == 403)
    #expect(try server.get("/readyz").status == 200)
    try server.stop()
    #expect(try String(contentsOfFile: server.log, encoding: .utf8).contains("audit head"))
    // The socket is not the server's, and stays for the next one.
    #expect(FileManager.default.fileExists(atPath: server.socket))
  }

  @Test func withoutASocketTheServerSaysWhatIsMissing() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let configuration = try programs.configuration(listen: "systemd", admin: "none")
    #expect {
      try Command.run(
        Programs.program, ["serve", "--config", configuration], environment: Programs.environment)
    } throws: { "\($0)".contains("listen = systemd, but systemd has passed no socket") }
  }
}
