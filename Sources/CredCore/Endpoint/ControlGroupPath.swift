/// The units in a path of the host's control groups, as `sd_pid_get_unit` and
/// `sd_pid_get_user_unit` (sd_pid_get_unit(3)) tell them.
///
/// The library needs a pid, but for a TCP connection the kernel names only a control group.
public enum ControlGroupPath {
  /// The unit in a path such as `/system.slice/billing.service`; nil if there is none. A unit of a
  /// user's own manager follows the unit of the manager: `user@1000.service/app.service`.
  public static func unit(_ path: String) -> String? {
    let names = path.split(separator: "/").map(String.init)
    guard let index = names.firstIndex(where: { !$0.isSlice }),
      let unit = unitName(names[index])
    else { return nil }
    guard unit.isUserManager || unit.isLoginSession else { return unit }
    let inner = names[(index + 1)...].first { !$0.isSlice }
    return inner.flatMap(unitName).map { "\(unit)/\($0)" } ?? unit
  }

  /// The unit after which a directory is named. systemd puts `_` before a name that has a meaning
  /// for the kernel.
  private static func unitName(_ directory: String) -> String? {
    let name = directory.hasPrefix("_") ? String(directory.dropFirst()) : directory
    return name.isUnitName ? name : nil
  }
}

extension String {
  private static let unitTypes = [
    ".service", ".scope", ".slice", ".socket", ".mount", ".swap", ".target", ".device", ".timer",
    ".path", ".automount",
  ]

  /// Whether the text can be a unit's name (systemd.unit(5)).
  var isUnitName: Bool {
    utf8.count <= 255 && containsOnlyLettersDigits(or: #":-_.\@"#)
      && Self.unitTypes.contains { hasSuffix($0) && utf8.count > $0.utf8.count }
      && utf8.first != UInt8(ascii: "@")
  }

  fileprivate var isSlice: Bool { hasSuffix(".slice") && isUnitName }

  /// `user@UID.service`.
  fileprivate var isUserManager: Bool {
    let prefix = "user@"
    let suffix = ".service"
    guard hasPrefix(prefix), hasSuffix(suffix),
      utf8.count > prefix.utf8.count + suffix.utf8.count
    else { return false }
    return utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count).allSatisfy(\.isDigit)
  }

  /// `session-ID.scope`.
  fileprivate var isLoginSession: Bool { hasPrefix("session-") && hasSuffix(".scope") }
}
