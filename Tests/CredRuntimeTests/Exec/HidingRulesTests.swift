import CLinux
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

/// The rules that hide the credentials from a command, as the kernel takes them.
struct HidingRulesTests {
  /// Makes rules on a thread that has no more descriptors than `spare`. Others are not affected: the
  /// thread has a table of its own.
  ///
  /// - Returns: what came of it, and the folder to blame.
  private static func hide(_ folder: String, spare: Int) -> (result: Int32, place: String) {
    typealias Unshare = @convention(c) (Int32) -> Int32
    guard let unshare = unsafe dlsym(nil, "unshare") else { return (-ENOSYS, "unshare") }
    // CLONE_FILES
    guard unsafe unsafeBitCast(unshare, to: Unshare.self)(0x400) == 0 else {
      return (-errno, "unshare")
    }
    var taken: [Int32] = []
    while true {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { break }
      taken.append(descriptor)
    }
    for descriptor in taken.suffix(spare) { credd_close(descriptor) }
    var place = [CChar](repeating: 0, count: Int(PATH_MAX))
    let names: [UnsafePointer<CChar>?] = unsafe [nil]
    let result = unsafe credd_rules_hiding(folder, names, &place, place.count)
    let blamed = place.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return (result, String(decoding: blamed, as: UTF8.self))
  }

  @Test(
    .enabled(if: credd_landlock_version() >= HiddenCredentials.version, "takes Landlock"),
    arguments: [1, 2, 3])
  func `a lack of descriptors leaves nothing out of the rules`(_ spare: Int) throws {
    let folder = try TemporaryFolder()
    // For a thread of its own.
    var waits = BoundedWait(longest: HangLimit.duration, together: HangLimit.duration)
    let path = folder.path
    let (result, place) = try #require(waits.wait { Self.hide(path, spare: spare) })
    expect(result, equals: -EMFILE)
    expect(place.hasPrefix("/"), "\(place)")
  }

  @Test(.enabled(if: credd_landlock_version() >= HiddenCredentials.version, "takes Landlock"))
  func `an entry that leads nowhere is no reason to fail`() throws {
    let folder = try TemporaryFolder()
    expect(unsafe mkdir(folder.path + "/hidden", 0o700), equals: 0)
    expect(unsafe symlink("/nonexistent/file", folder.path + "/beside"), equals: 0)
    expect(unsafe symlink("loop", folder.path + "/hidden/loop"), equals: 0)
    var place = [CChar](repeating: 0, count: Int(PATH_MAX))
    let names = ["gone", "loop", "loop/below"].map { Array($0.utf8) + [0] }
    let rules = unsafe CStrings.with(names) { names in
      unsafe credd_rules_hiding(folder.path + "/hidden", names, &place, place.count)
    }
    expect(rules >= 0)
    credd_close(rules)
  }
}
