import CredCore
import CredctlKit
import Glibc

/// The means of this host for a sign-in by browser.
struct BrowserMeans {
  /// The listener; nil if the user must paste the last address.
  let listener: BrowserListener?
  /// The commands that open a browser; empty if the user opens the link.
  let commands: [BrowserCommand]
  /// Whether the user asked for a browser, even without a terminal.
  let isWanted: Bool
}

/// The abilities of this host to open a browser.
enum BrowserHost {
  static func commands(_ given: String?) -> [BrowserCommand] {
    let release = try? SecretInput.contents(ofFile: "/proc/sys/kernel/osrelease", limit: 4096)
    return BrowserCommand.candidates(
      given: given, environment: Environment.value(of:),
      kernel: String(decoding: release ?? [], as: UTF8.self), isRoot: geteuid() == 0)
  }

  /// Whether the user sits at another host, and so cannot see a browser of this host.
  static var isRemote: Bool {
    let isSet = { (name: String) in Environment.value(of: name)?.isEmpty == false }
    return isSet("SSH_CONNECTION") && !isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY")
  }
}
