public import AuthCore
import FoundationEssentials
import Glibc
import Synchronization

/// The rules for passwords, with the list of common ones from a file. `reload` reads it again; where
/// it is not good, the earlier rules stay.
public final class PasswordFile: Sendable {
  /// The package's list.
  public static let shipped = "/usr/share/credd-authserver/common-passwords"

  private let places: [String]
  private let current: Mutex<PasswordRules>

  /// - Parameter places: of the file; the first that is there counts.
  public init(_ places: [String]) throws(ServerFailure) {
    self.places = places
    current = Mutex(try Self.read(places))
  }

  public var rules: PasswordRules { current.withLock { $0 } }

  public func reload() throws(ServerFailure) {
    let new = try Self.read(places)
    current.withLock { $0 = new }
  }

  private static func read(_ places: [String]) throws(ServerFailure) -> PasswordRules {
    let there = places.first { unsafe access($0, F_OK) == 0 || errno != ENOENT }
    let path = there ?? places.last ?? shipped
    try TLSFiles.checkReadable("common passwords", path)
    var state = stat()
    guard unsafe stat(path, &state) == 0, state.st_mode & S_IFMT == S_IFREG,
      state.st_size <= Limits.passwordListBytes,
      let list = try? Data(contentsOf: URL(filePath: path))
    else {
      throw ServerFailure(
        "common passwords: \(path) is no file of \(Limits.passwordListBytes) bytes at most")
    }
    do {
      return try PasswordRules(list: Array(list))
    } catch {
      throw ServerFailure("common passwords: \(path):\(error.line): \(error.reason)")
    }
  }
}
