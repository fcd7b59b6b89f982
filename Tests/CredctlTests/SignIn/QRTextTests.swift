import CredctlKit
import TestSupport
import Testing

@testable import credctl

/// What a camera would read from the characters on the terminal.
struct QRTextTests {
  /// The modules of the drawn code, without the margin of two.
  private func modules(_ lines: [String]) -> [[Bool]] {
    var rows: [[Bool]] = []
    for line in lines {
      let cells = line.replacing("\u{1B}[30;107m", with: "").replacing("\u{1B}[0m", with: "")
      rows.append(cells.map { "█▀".contains($0) })
      rows.append(cells.map { "█▄".contains($0) })
    }
    let side = rows[0].count - 4
    return rows[2..<(2 + side)].map { Array($0[2..<(2 + side)]) }
  }

  /// Reads codes of versions 1 to 5 with the lowest correction, which are one block: format, mask,
  /// bits in their order (ISO/IEC 18004, 7.7 and 7.8). Nothing is corrected, for nothing is damaged.
  private func read(_ code: [[Bool]]) throws -> String {
    let side = code.count
    let version = (side - 17) / 4
    var format = 0
    for x in [0, 1, 2, 3, 4, 5, 7, 8] { format = format << 1 | (code[8][x] ? 1 : 0) }
    let mask = (format >> 3 ^ 0b10101) & 0b111
    func isFunction(_ x: Int, _ y: Int) -> Bool {
      if x == 6 || y == 6 { return true }
      if x < 9 && y < 9 || x >= side - 8 && y < 9 || x < 9 && y >= side - 8 { return true }
      let place = version > 1 ? 4 * version + 10 : -9
      return abs(x - place) <= 2 && abs(y - place) <= 2
    }
    func isMasked(_ x: Int, _ y: Int) -> Bool {
      switch mask {
      case 0: (x + y) % 2 == 0
      case 1: y % 2 == 0
      case 2: x % 3 == 0
      case 3: (x + y) % 3 == 0
      case 4: (x / 3 + y / 2) % 2 == 0
      case 5: x * y % 2 + x * y % 3 == 0
      case 6: (x * y % 2 + x * y % 3) % 2 == 0
      default: ((x + y) % 2 + x * y % 3) % 2 == 0
      }
    }
    var bits: [Bool] = []
    var right = side - 1
    var isUpward = true
    while right > 0 {
      if right == 6 { right = 5 }
      for step in 0..<side {
        let y = isUpward ? side - 1 - step : step
        for x in [right, right - 1] where !isFunction(x, y) {
          bits.append(code[y][x] != isMasked(x, y))
        }
      }
      isUpward.toggle()
      right -= 2
    }
    func number(_ place: Int, _ count: Int) -> Int {
      bits[place..<(place + count)].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }
    try #require(number(0, 4) == 0b0100, "bytes")
    return String(
      decoding: (0..<number(4, 8)).map { UInt8(number(12 + 8 * $0, 8)) }, as: UTF8.self)
  }

  @Test(arguments: [
    "otpauth://totp/a:b?secret=JBSWY3DP", "a", String(repeating: "xY7%", count: 26),
  ])
  func aReaderFindsTheText(_ text: String) throws {
    let code = try #require(QRCode(Array(text.utf8)))
    let lines = try #require(QRText.lines(code.modules, side: code.side, on: nil))
    expect(lines.count, equals: (code.side + 5) / 2)
    expect(try read(modules(lines)), equals: text)
  }

  @Test func aNarrowTerminalGetsNone() throws {
    let code = try #require(QRCode(Array("otpauth://totp/x".utf8)))
    func lines(_ columns: Int, _ rows: Int, _ below: [String] = []) -> [String]? {
      QRText.lines(
        code.modules, side: code.side, above: below,
        on: TerminalText.Size(columns: columns, rows: rows))
    }
    expect(lines(code.side + 4, 50) != nil)
    expect(lines(code.side + 3, 50) == nil)
    // The code, a blank line, the lines below it and the cursor's.
    let rows = (code.side + 5) / 2 + 2
    expect(lines(80, rows) != nil && lines(80, rows - 1) == nil)
    let below = ["link", String(repeating: "w ", count: 60)]
    expect(lines(80, rows + 3, below) != nil && lines(80, rows + 2, below) == nil)
    expect(QRCode([]) == nil && QRCode([0x61, 0]) == nil)
    expect(QRCode([UInt8](repeating: 0x61, count: 3000)) == nil)
  }

  @Test(arguments: [
    (["TERM": "xterm", "LANG": "de_DE.UTF-8"], true),
    (["TERM": "xterm", "LC_ALL": "C.utf8"], true),
    (["TERM": "xterm", "LC_ALL": "C", "LANG": "C.UTF-8"], false), (["TERM": "xterm"], false),
    (["TERM": "dumb", "LANG": "C.UTF-8"], false), (["LANG": "C.UTF-8"], false),
  ])
  func itIsDrawnWhereBlocksAreShown(_ environment: [String: String], _ isShown: Bool) {
    expect(TerminalText.showsQRCodes { environment[$0] }, equals: isShown)
  }
}
