internal import Glibc

/// Where the service may keep files: the first directory of its kind that the service manager made;
/// nil where it made none (systemd.exec(5)).
public enum ServiceDirectory {
  /// `StateDirectory=`: on disk.
  public static var state: String? { path("STATE_DIRECTORY") }
  /// `RuntimeDirectory=`: in memory.
  public static var runtime: String? { path("RUNTIME_DIRECTORY") }

  private static func path(_ variable: String) -> String? {
    guard let value = unsafe getenv(variable) else { return nil }
    // Several are separated by colons.
    let first = unsafe String(cString: value).prefix { $0 != ":" }
    return first.hasPrefix("/") ? String(first) : nil
  }
}
