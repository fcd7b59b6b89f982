/// A QR code in characters, two modules one above the other in each.
public enum QRText {
  /// Light modules around the code, without which readers do not find it (ISO/IEC 18004 wants four;
  /// two do for screens, and more codes fit).
  private static let margin = 2

  /// The lines of a code; nil if the terminal is too narrow.
  ///
  /// The colours are set, because a code that is light on dark is not read everywhere.
  /// - Parameters:
  ///   - modules: row by row, true for a dark one.
  ///   - side: modules of a row.
  public static func lines(_ modules: [Bool], side: Int, width: Int?) -> [String]? {
    guard side > 0, modules.count == side * side, side + 2 * margin <= width ?? 80 else {
      return nil
    }
    func isDark(_ x: Int, _ y: Int) -> Bool {
      (0..<side).contains(x) && (0..<side).contains(y) && modules[y * side + x]
    }
    return stride(from: -margin, to: side + margin, by: 2).map { y in
      let row = (-margin..<(side + margin)).map { x in
        switch (isDark(x, y), isDark(x, y + 1)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return "\u{1B}[30;107m" + row.joined() + "\u{1B}[0m"
    }
  }

  /// Whether a terminal shows the blocks: its locale is UTF-8, and it is not dumb.
  public static func isShown(_ environment: (String) -> String?) -> Bool {
    guard let terminal = environment("TERM"), !terminal.isEmpty, terminal != "dumb" else {
      return false
    }
    // The first that is set counts (locale(7)).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap(environment).first { !$0.isEmpty }
    let name = (locale ?? "").uppercased()
    return name.contains("UTF-8") || name.contains("UTF8")
  }
}
