import Foundation

/// A disk of a few megabytes, which can be full.
public final class SmallDisk: Sendable {
  /// Root alone may mount one.
  public static let isPossible: Bool = {
    guard let disk = try? SmallDisk(megabytes: 1) else { return false }
    disk.remove()
    return true
  }()

  private let folder: TestFolder
  public var path: String { folder.path }
  private var filler: String { path + "/filler" }

  public init(megabytes: Int) throws {
    folder = try TestFolder()
    try Command.run(
      "/usr/bin/mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "authserver", folder.path])
  }

  public func remove() { _ = try? Command.run("/usr/bin/umount", ["--lazy", path]) }

  /// Takes all that is left.
  public func fill() throws {
    _ = try Command.run(
      "/bin/bash", ["-c", "cat /dev/zero >>\(filler) 2>/dev/null; test -s \(filler)"])
  }

  public func empty() throws { try FileManager.default.removeItem(atPath: filler) }
}
