import Foundation
import Testing
import TestSupport

@testable import DaemonHarness

/// The libraries that credd loads at need.
@Suite(.onStage)
struct LibraryTests {
  @Test
  func withoutLibcurlCallersLearnWhatIsMissing() throws {
    let folder = try Stage.current().newFile("lib")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: folder + "/libcurl.so.4"))
    let host = try TestHost(environment: ["LD_LIBRARY_PATH": folder])
    let refused = try host.get("--wait", "1")
    expect(refused.status, equals: 75)
    expect(refused.errors.contains("a library cannot be loaded on this host"))
    expect(host.daemon.errors.contains("libcurl.so.4: file too short"))
    // It is no reason to end, and is tried again.
    try Data(contentsOf: URL(filePath: "/usr/lib/\(Self.architecture)-linux-gnu/libcurl.so.4"))
      .write(to: URL(filePath: folder + "/libcurl.so.4"))
    expect(try host.get("--wait", "30").status, equals: 0)
  }

  /// Packagers find what a program loads at need in a note: https://systemd.io/ELF_DLOPEN_METADATA.
  @Test(.enabled(if: Programs.installed("objcopy") != nil, "takes Debian's binutils"))
  func librariesLoadedAtNeedAreInANoteOfTheProgram() throws {
    let libraries = try DlopenNote.libraries(of: Programs.credd)
    expect(libraries.map(\.soname), equals: ["libcrypto.so.3", "libcurl.so.4"])
    expect(libraries.map(\.priority), equals: ["recommended", "required"])
    for library in libraries {
      expect(!library.feature.isEmpty && !library.description.isEmpty)
      // It is the one that is loaded here.
      expect(
        FileManager.default.fileExists(
          atPath: "/usr/lib/\(Self.architecture)-linux-gnu/\(library.soname)"))
    }
  }

  /// `contains` of a String with another one, and other conveniences, link Swift's regular expressions into
  /// the daemon: 1.4 MB that nothing uses. `contains(bytesOf:)` does the same.
  @Test(.enabled(if: Programs.shipped != nil, "CREDD_SHIPPED_DIR is not set"))
  func noRegularExpressionsAreLinkedIntoTheDaemon() throws {
    let bytes = try Data(contentsOf: URL(filePath: Programs.credd))
    expect(bytes.range(of: Data("_StringProcessing".utf8)) == nil)
    expect(bytes.range(of: Data("libcurl.so.4".utf8)) != nil)
  }

  /// Loading runs parts of a library's code and reads its tables. Only what a call uses comes back.
  @Test(.enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
  func codeThatOnlyLoadingNeededIsNotResident() throws {
    let host = try TestHost()
    let linked = try residentCode(of: host.daemon)
    expect(try host.get().status, equals: 0)
    let loaded = try residentCode(of: host.daemon).filter { linked[$0.key] == nil }
    // The call used some of them.
    expect(loaded.contains { $0.key.contains("/libcurl.so") && $0.value > 0 })
    expect(loaded.contains { $0.value == 0 })
  }

  /// The linked libraries ran code as well, and some of them nothing since.
  @Test(.enabled(if: MemoryScan.canBe, "reading credd's memory takes root"))
  func codeThatOnlyTheStartNeededIsNotResident() throws {
    let host = try TestHost()
    try Deadline.usual.wait(for: "a library without a resident page") {
      try residentCode(of: host.daemon).contains { $0.value == 0 }
    }
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
