/// A QR code in characters. Each character has two modules, one above the other.
public enum QRText {
  /// The light modules around the code, without which readers do not find it. ISO/IEC 18004
  /// requires four; two are enough for screens, and more codes fit.
  private static let margin = 2

  /// The lines of a code. Nil if the terminal is too narrow, or too low for the code and the lines
  /// that follow it: half a code is of no use.
  ///
  /// The colours are set, because not every reader reads a light code on a dark background.
  /// - Parameters:
  ///   - modules: the modules row by row; true for a dark module.
  ///   - side: the number of modules in a row.
  ///   - below: what the user must see too.
  ///   - size: nil if it is not known.
  public static func lines(
    _ modules: [Bool], side: Int, above below: [String] = [], on size: TerminalText.Size?
  ) -> [String]? {
    guard side > 0, modules.count == side * side, side + 2 * margin <= size?.columns ?? 80 else {
      return nil
    }
    // A blank line comes after the code, and the cursor stands below everything.
    let rows = (side + 2 * margin + 1) / 2 + 1 + TerminalText.rows(below, of: size?.columns) + 1
    guard rows <= size?.rows ?? rows else { return nil }
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
}
