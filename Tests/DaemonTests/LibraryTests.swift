import Foundation
import Testing

/// A host on which the libraries that credd loads at need are damaged.
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

  #if arch(x86_64)
    private static let architecture = "x86_64"
  #else
    private static let architecture = "aarch64"
  #endif
}
