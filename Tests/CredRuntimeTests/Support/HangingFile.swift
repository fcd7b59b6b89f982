import Foundation

/// A program whose execution waits for an answer of fanotify(7), as that of one on a file server which
/// does not answer. Takes root.
final class HangingFile {
  private let process = Process()
  private let answer = Pipe()
  private let told = Pipe()

  private static let script = """
    import ctypes, os, struct, sys
    libc = ctypes.CDLL(None, use_errno=True)
    class_content, add, exec_permission, allow = 4, 1, 0x40000, 1
    group = libc.fanotify_init(class_content, os.O_RDONLY)
    if libc.fanotify_mark(group, add, ctypes.c_uint64(exec_permission), -100,
                          sys.argv[1].encode()) < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    print("ready", flush=True)
    event = os.read(group, 4096)
    print("asked", flush=True)
    sys.stdin.read()
    descriptor, = struct.unpack_from("i", event, 16)
    os.write(group, struct.pack("iI", descriptor, allow))
    """

  init(_ path: String) throws {
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = ["-c", Self.script, path]
    process.standardInput = answer
    process.standardOutput = told
    try process.run()
    try wait(for: "ready\n")
  }

  deinit {
    goOn()
    process.waitUntilExit()
  }

  private func wait(for line: String) throws {
    var read = ""
    while read != line {
      guard let data = try told.fileHandleForReading.read(upToCount: 1), !data.isEmpty else {
        throw CocoaError(.executableLoad)
      }
      read += String(decoding: data, as: UTF8.self)
    }
  }

  /// Returns when the program is being executed.
  func waitUntilAsked() throws { try wait(for: "asked\n") }

  func goOn() { try? answer.fileHandleForWriting.close() }
}
