import CredCore
import CredctlKit
import Glibc

/// With what a sign-in by browser goes on at this host.
struct BrowserMeans {
  /// Nil where the last address has to be pasted.
  let listener: BrowserListener?
  /// None where the user opens the link.
  let commands: [BrowserCommand]
  /// Whether the user asked for it, also where no terminal is.
  let isWanted: Bool
}

/// What this host has to open a browser.
enum BrowserHost {
  static func commands(_ given: String?) -> [BrowserCommand] {
    let release = try? SecretInput.contents(ofFile: "/proc/sys/kernel/osrelease", limit: 4096)
    return BrowserCommand.candidates(
      given: given, environment: Environment.value(of:),
      kernel: String(decoding: release ?? [], as: UTF8.self), isRoot: geteuid() == 0)
  }

  /// Whether the user sits at another host: the browser of this one is not before their eyes.
  static var isRemote: Bool {
    let isSet = { (name: String) in Environment.value(of: name)?.isEmpty == false }
    return isSet("SSH_CONNECTION") && !isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY")
  }
}
