extension JSON {
  /// The value as UTF-8 JSON without white space, members in the order of their names.
  public var bytes: [UInt8] {
    var output: [UInt8] = []
    write(to: &output)
    return output
  }

  private func write(to output: inout [UInt8]) {
    switch self {
    case .null: output += "null".utf8
    case .bool(let bool): output += (bool ? "true" : "false").utf8
    case .number(let number): output += JSON.spelling(of: number).utf8
    case .timestamp(let seconds): output += JSON.exponentSpelling(of: seconds).utf8
    case .string(let text): JSON.write(text, to: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        element.write(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        JSON.write(member.key, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.write(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  private static func spelling(of number: Double) -> String {
    Int(exactly: number).map(String.init) ?? String(number)
  }

  /// As Java's `Double.toString` spells an epoch: 1469653534 is `1.469653534E9`. Cognito answers
  /// so, and readers that expect plain digits have failed on it.
  private static func exponentSpelling(of seconds: Double) -> String {
    guard seconds >= 1e7 else { return String(seconds) }
    var digits = String(Int(seconds))
    let exponent = digits.count - 1
    while digits.count > 2, digits.hasSuffix("0") { digits.removeLast() }
    digits.insert(".", at: digits.index(after: digits.startIndex))
    return digits + "E\(exponent)"
  }

  private static func write(_ text: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): output += "\\\"".utf8
      case UInt8(ascii: "\\"): output += "\\\\".utf8
      case UInt8(ascii: "\n"): output += "\\n".utf8
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        output += ("\\u00" + (digits.count == 1 ? "0" : "") + digits).utf8
      default: output.append(byte)
      }
    }
    output.append(UInt8(ascii: "\""))
  }
}
