import AuthServer
import AuthTestSupport
import Dispatch
import Foundation
import Synchronization
import Testing

/// The log while nobody reads it.
struct LogTests {
  @Test func whoWritesToTheLogNeverWaitsForItsReader() throws {
    let isRead = DispatchSemaphore(value: 0)
    let written = Mutex("")
    let buffer = LogBuffer(
      limit: 100, note: { Data("dropped \($0)\n".utf8) },
      write: { lines in
        isRead.wait()
        written.withLock { $0 += String(decoding: lines, as: UTF8.self) }
      })
    for _ in 0..<50 { buffer.add(Data("123456789\n".utf8)) }
    // Still nobody: the program may end all the same.
    buffer.flush(within: 0.01)
    #expect(written.withLock { $0 } == "")
    for _ in 0..<3 { isRead.signal() }
    buffer.flush(within: 10)
    let lines = written.withLock { $0 }.split(separator: "\n")
    let whole = lines.filter { $0 == "123456789" }.count
    let dropped = lines.compactMap { $0.hasPrefix("dropped ") ? Int($0.dropFirst(8)) : nil }
    // Ten wait, and at most ten more are being written.
    #expect((10...20).contains(whole))
    #expect(whole + dropped.reduce(0, +) == 50)
    // What comes later is written as before.
    isRead.signal()
    buffer.add(Data("later\n".utf8))
    buffer.flush(within: 10)
    #expect(written.withLock { $0 }.hasSuffix("later\n"))
  }
}

extension ProgramTests {
  /// The reader of the log, such as the journal, has stopped.
  @Test func aLogThatNobodyReadsHoldsUpNoCallback() throws {
    let programs = try Programs(.sqlite)
    defer { programs.stop() }
    let token = try programs.enrol("web1", "--vouches", "*")
    let pipe = Pipe()
    // As much as it holds.
    pipe.fileHandleForWriting.write(Data(count: 65_536))
    let server = try programs.serve(errors: pipe.fileHandleForWriting)
    for _ in 0..<3 {
      #expect(try server.callback(token, "alice", forced: true).status == 200)
      server.reload()
    }
    server.process.terminate()
    server.process.waitUntilExit()
    #expect(server.process.terminationStatus == 0)
    withExtendedLifetime(pipe) {}
  }
}
