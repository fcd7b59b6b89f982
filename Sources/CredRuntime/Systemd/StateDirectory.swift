internal import Glibc

/// Where the service may keep files (`StateDirectory=` in systemd.exec(5)).
public enum StateDirectory {
  /// The first one that the service manager made; nil where it made none.
  public static var path: String? {
    guard let value = unsafe getenv("STATE_DIRECTORY") else { return nil }
    // Several are separated by colons.
    let first = unsafe String(cString: value).prefix { $0 != ":" }
    return first.hasPrefix("/") ? String(first) : nil
  }
}
