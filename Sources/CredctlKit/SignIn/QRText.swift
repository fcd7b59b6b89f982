/// A QR code in characters. Each character has two modules, one above the other.
public enum QRText {
  /// The light modules around the code, without which readers do not find it. ISO/IEC 18004
  /// requires four; two are enough for screens, and more codes fit.
  private static let margin = 2

  /// The lines of a code; nil if the terminal is too narrow.
  ///
  /// The colours are set, because not every reader reads a light code on a dark background.
  /// - Parameters:
  ///   - modules: the modules row by row, true for a dark one.
  ///   - side: the number of modules in a row.
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

  /// Whether the terminal can show the blocks: the locale is UTF-8, and the terminal is not dumb.
  public static func isShown(_ environment: (String) -> String?) -> Bool {
    guard let terminal = environment("TERM"), !terminal.isEmpty, terminal != "dumb" else {
      return false
    }
    // The first variable that is set counts (locale(7)).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap(environment).first { !$0.isEmpty }
    let name = (locale ?? "").uppercased()
    return name.contains("UTF-8") || name.contains("UTF8")
  }
}
