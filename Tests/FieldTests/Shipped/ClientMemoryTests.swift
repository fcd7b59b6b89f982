import Foundation
import Testing
import TestSupport

@testable import DaemonHarness

/// When credctl ends, nothing secret is left in its memory, which the kernel gives to others later
/// and may have swapped out before.
@Suite(
  .onStage,
  .enabled(
    if: MemoryScan.canBe && PythonScript.canRun, "tracing credctl takes root, python3"))
struct ClientMemoryTests {
  /// Runs a command under ptrace(2). Writes what stands in its memory to one file whenever it sends
  /// or writes, and to another when it has begun to end.
  private static let tracer = """
    import ctypes, os, platform, pty, signal, sys, threading
    alive, ended, typed, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    TRACEME, SYSCALL, SETOPTIONS, SYSCALL_INFO = 0, 24, 0x4200, 0x420E
    SYSGOOD, ON_EXEC, ON_EXIT, KILL_WITH_TRACER = 1, 1 << 4, 1 << 6, 1 << 20
    sending = {"x86_64": (1, 44), "aarch64": (64, 206)}[platform.machine()]
    def ptrace(request, pid, address=None, data=None):
        result = libc.ptrace(request, pid, address, data)
        if result < 0:
            raise OSError(ctypes.get_errno(), "ptrace")
        return result
    def dump(path):
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory, \\
                open(path, "ab") as out:
            for line in maps:
                fields = line.split()
                if fields[1].startswith("rw"):
                    start, end = (int(number, 16) for number in fields[0].split("-"))
                    memory.seek(start)
                    out.write(memory.read(end - start))
    def type_in(terminal, text, seen=b""):
        while b"assword" not in seen:
            seen += os.read(terminal, 1024)
        os.write(terminal, text.encode() + b"\\n")
        try:
            while os.read(terminal, 1024): pass
        except OSError:
            pass
    pid, terminal = pty.fork() if typed else (os.fork(), -1)
    if typed and pid:
        threading.Thread(target=type_in, args=(terminal, typed), daemon=True).start()
    if pid == 0:
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execv(command[0], command)
    os.waitpid(pid, 0)
    ptrace(SETOPTIONS, pid, None, SYSGOOD | ON_EXEC | ON_EXIT | KILL_WITH_TRACER)
    began, passed_on = False, 0
    info = ctypes.create_string_buffer(88)
    while True:
        ptrace(SYSCALL, pid, None, passed_on)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            sys.exit(os.waitstatus_to_exitcode(status))
        event, stop, passed_on = status >> 16, os.WSTOPSIG(status), 0
        if event == 4:
            began = True
            with open(alive + ".exe", "w") as name: name.write(os.readlink(f"/proc/{pid}/exe"))
        elif event == 6:
            dump(ended)
        elif stop == signal.SIGTRAP | 0x80:
            ptrace(SYSCALL_INFO, pid, len(info), ctypes.addressof(info))
            isEntry, number = info.raw[0] == 1, int.from_bytes(info.raw[24:32], "little")
            if began and isEntry and number in sending:
                dump(alive)
        elif event == 0:
            passed_on = stop
    """

  /// - Parameters:
  ///   - typed: on a terminal, after the prompt; else there is none.
  ///   - more: secrets that the command's own output shows.
  private func expectWiped(
    _ secrets: [String: String], _ host: TestHost, _ arguments: [String], input: String = "",
    typed: String = "", status: Int32 = 0, more: (String) throws -> [String: String] = { _ in [:] }
  ) throws {
    let stage = try Stage.current()
    let (alive, ended, file) = (stage.newFile("alive"), stage.newFile("ended"), stage.newFile("in"))
    try Data(input.utf8).write(to: URL(filePath: file))
    let process = try ChildProcess(
      [
        try #require(Programs.installed("python3")), try PythonScript(Self.tracer).path, alive,
        ended, typed, Programs.credctl, "--socket", host.socketPath,
      ] + arguments,
      // As in the program that is installed, which is static. The dynamic linker's way into a
      // function that is called for the first time spills registers, and what memcpy(3) left there.
      environment: ["LD_BIND_NOW": "1"], input: file)
    expect(try process.wait(), equals: status, "\(process.errors)")
    let program = URL(filePath: Programs.credctl).resolvingSymlinksInPath().path
    expect(try String(contentsOfFile: alive + ".exe", encoding: .utf8), equals: program)
    let secrets = try secrets.merging(more(process.output)) { $1 }
    expect(!secrets.isEmpty)
    let seen = try MemoryScan.find(secrets, inDump: alive)
    for (name, secret) in secrets {
      expect(seen.contains(MemoryScan.whole(name, secret)), "\(seen)")
    }
    let left = try MemoryScan.find(secrets, inDump: ended)
    expect(left, equals: [])
  }

  @Test(arguments: [
    ["get"], ["token"], ["env"], ["env", "--format", "fish"], ["env", "--format", "dotenv"],
    ["env", "--format", "json"],
  ])
  func nothingIsLeftOfWhatIsPrinted(_ words: [String]) throws {
    let host = try TestHost()
    let reply = try words == ["token"] ? host.ask(#"{"op":"token"}"#) : host.credentials()
    try expectWiped(reply.secrets(), host, words)
  }

  @Test func nothingIsLeftOfWhatIsPrintedAnew() throws {
    let host = try TestHost()
    let before = try host.credentials().secrets()
    try expectWiped([:], host, ["get", "--refresh"]) {
      let secrets = try JSON($0).secrets()
      expect(secrets != before)
      return secrets
    }
  }

  @Test func nothingIsLeftOfAPasswordThatIsTyped() throws {
    let password = newSecret(14)
    let seed = try Configuration.seed(#""Users":[{"Name":"alice","Password":"\#(password)"}]"#)
    let host = try TestHost(sandbox: seed) { Configuration.password($0) }
    try expectWiped(
      ["password": password], host, ["login", "--username", "alice"], typed: password)
  }

  @Test func nothingIsLeftOfANewAccountsPassword() throws {
    let host = try TestHost {
      Configuration.password($0, backend: "register_url = \($0.url)/register")
    }
    let password = newSecret(14)
    try expectWiped(
      ["password": password], host,
      ["account", "sign-up", "--username", "carol", "--password-stdin"], input: password + "\n")
  }

  @Test(arguments: [true, false])
  func nothingIsLeftOfAPassword(_ isRight: Bool) throws {
    let password = newSecret(14)
    let seed = try Configuration.seed(#""Users":[{"Name":"alice","Password":"\#(password)"}]"#)
    let host = try TestHost(sandbox: seed) { Configuration.password($0) }
    let typed = isRight ? password : newSecret(30)
    try expectWiped(
      ["password": typed], host,
      ["login", "--username", "alice", "--password-stdin"] + (isRight ? ["--json"] : []),
      input: typed + "\n", status: isRight ? 0 : 77)
  }

  @Test func nothingIsLeftOfATokenAtHand() throws {
    let host = try TestHost {
      Configuration.usual($0) + Configuration.direct($0, "direct")
    }
    let mine = try host.ask(#"{"op":"token"}"#)
    try expectWiped(
      mine.secrets(), host,
      ["login", "-p", "direct", "--identity-id", mine["IdentityId"]?.text ?? "", "--token-stdin"],
      input: mine["Token"]?.text ?? "")
  }

  /// As a script gives them: with the password on a line, or in JSON.
  @Test(arguments: [true, false])
  func nothingIsLeftOfAnswersToAUserPool(_ isJSON: Bool) throws {
    let host = try TestHost { Configuration.userPool($0) }
    let new = "Aa1-" + newSecret(20)
    try host.sandbox.control(
      "POST", "user-pool/user",
      #"{"Username":"carol","Password":"Temporary-1","Attributes":{"email":"c@example.com"}}"#)
    let asked = try host.logIn("carol", password: "Temporary-1")
    let handle = try #require(asked["Challenge"]?["Handle"]?.text, "\(asked)")
    try expectWiped(
      ["password": new], host,
      ["respond", handle] + [isJSON ? "--answers-stdin" : "password=-"],
      input: isJSON ? #"{"password":"\#(new)"}"# : new + "\n")
  }

  @Test func nothingIsLeftOfALoginInAFile() throws {
    let host = try TestHost { Configuration.direct($0) }
    let token = try host.sandbox.token(of: "accounts.google.com", "g1")
    let file = try Stage.current().newFile("token")
    try Data((token + "\n").utf8).write(to: URL(filePath: file))
    try expectWiped(
      ["login": token], host, ["login", "--login", "accounts.google.com=@\(file)"])
  }
}
