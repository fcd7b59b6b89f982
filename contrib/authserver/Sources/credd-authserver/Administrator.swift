import FoundationEssentials
import Glibc

/// The person who has called this program, for the audit. The kernel keeps the user of a login
/// through `sudo` and `su`, and only root can change it. A variable of the environment says
/// whatever its owner likes.
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
