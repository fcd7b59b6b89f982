import FoundationEssentials

/// Base64 with the alphabet of RFC 4648 §4.
func base64(_ bytes: some Collection<UInt8>) -> String {
  Data(bytes).base64EncodedString()
}

/// Base64 without padding and with the URL-safe alphabet (RFC 7515 §2).
func base64URL(_ bytes: some Collection<UInt8>) -> String {
  String(
    base64(bytes).compactMap { character in
      switch character {
      case "+": "-"
      case "/": "_"
      case "=": nil
      default: character
      }
    })
}

/// The bytes of an unpadded URL-safe text; nil where it is anything else.
func base64URLDecoded(_ text: some StringProtocol) -> [UInt8]? {
  var plain = ""
  for character in text {
    switch character {
    case "-": plain.append("+")
    case "_": plain.append("/")
    case "+", "/", "=": return nil
    default: plain.append(character)
    }
  }
  plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
  return Data(base64Encoded: plain).map(Array.init)
}

/// Lower-case hexadecimal.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}
