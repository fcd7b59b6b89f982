import FoundationEssentials
import Glibc

/// Who has called this program, for the audit. The kernel keeps the user of a login through `sudo` and
/// `su`, and nobody but root can change it; a variable of the environment says what its owner likes.
enum Administrator {
  static func name() -> String {
    let text = try? String(contentsOfFile: "/proc/self/loginuid", encoding: .utf8)
    let login = text.flatMap { UInt32($0.filter { !$0.isWhitespace }) }
    // The highest number stands for nobody: a unit, or a container.
    let uid = login == .max ? getuid() : login ?? getuid()
    guard let user = unsafe getpwuid(uid) else { return "uid \(uid)" }
    return unsafe String(cString: user.pointee.pw_name)
  }
}
