import Foundation
import Testing

/// The libraries that credd loads at need.
@Suite(.onStage)
struct LibraryTests {
  @Test
  func withoutLibcurlCallersLearnWhatIsMissing() throws {
    let folder = try Stage.current().newFile("lib")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: folder + "/libcurl.so.4"))
    let host = try TestHost(environment: ["LD_LIBRARY_PATH": folder])
    let refused = try host.credctl("get", "--wait", "1")
    #expect(refused.status == 75)
    #expect(refused.errors.contains("a library cannot be loaded on this host"))
    #expect(host.daemon.errors.contains("libcurl.so.4: file too short"))
    // It is no reason to end, and is tried again.
    try Data(contentsOf: URL(filePath: "/usr/lib/\(Self.architecture)-linux-gnu/libcurl.so.4"))
      .write(to: URL(filePath: folder + "/libcurl.so.4"))
    #expect(try host.credctl("get", "--wait", "30").status == 0)
  }

  /// To load a library, parts of its code run and its tables are read.
  @Test(.enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
  func whatALibraryTookToBeLoadedIsGivenBack() throws {
    let host = try TestHost()
    let linked = try residentCode(of: host.daemon)
    #expect(try host.credctl("get").status == 0)
    let now = try residentCode(of: host.daemon)
    #expect(linked.keys.allSatisfy { now[$0, default: 0] > 0 })
    let loaded = now.filter { linked[$0.key] == nil }
    // The call used some of them.
    #expect(loaded.contains { $0.key.contains("/libcurl.so") && $0.value > 0 })
    #expect(loaded.contains { $0.value == 0 })
  }

  /// Kilobytes, by the library's path.
  private func residentCode(of daemon: ChildProcess) throws -> [String: Int] {
    let text = try ProcessFile.text(daemon.pid, "smaps")
    var resident: [String: Int] = [:]
    var library: String?
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.count == 6, fields[1] == "r-xp", fields[5].contains(".so") {
        library = String(fields[5])
      } else if let name = library, fields[0] == "Rss:" {
        resident[name] = Int(fields[1])
        library = nil
      }
    }
    return resident
  }

  #if arch(x86_64)
    private static let architecture = "x86_64"
  #else
    private static let architecture = "aarch64"
  #endif
}
