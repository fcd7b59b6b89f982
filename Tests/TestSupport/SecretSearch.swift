import Foundation

/// Searches every part of secrets that is ``MemoryScan/tooMany`` bytes long: unchanged, and in the
/// forms in which programs write them, as base64, hexadecimal digits, percent-encoding or JSON
/// text.
package struct SecretSearch {
  /// One written form of a secret.
  private struct Form {
    let name: String
    let bytes: [UInt8]
    let besides: [Data]
    /// This many bytes of the form in a row are too many.
    let tooMany: Int
  }

  private let forms: [Form]
  /// The places of each run of four bytes, with the form. Any eight bytes in a row contain four
  /// that are aligned to four, so memory is searched word by word.
  private let places: [UInt32: [(form: Int, start: Int)]]
  /// Whether the lowest 16 bits of a word occur at all. For most words, this one look is enough.
  private let isPossible: [Bool]

  /// - Parameter besides: texts that may be in memory. Parts of secrets that also occur in them do
  ///   not count.
  package init(_ secrets: [String: String], besides: [String] = []) {
    var forms: [Form] = []
    for (name, secret) in secrets {
      for encoding in SecretEncoding.allCases {
        guard let bytes = encoding.bytes(of: secret) else { continue }
        forms.append(
          Form(
            name: name + encoding.words, bytes: bytes,
            besides: besides.compactMap { encoding.bytes(of: $0).map { Data($0) } },
            tooMany: encoding.length(of: MemoryScan.tooMany)))
      }
    }
    var places: [UInt32: [(form: Int, start: Int)]] = [:]
    var isPossible = [Bool](repeating: false, count: 1 << 16)
    for (index, form) in forms.enumerated() {
      for start in form.bytes.indices.dropLast(3) {
        let word = form.bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        places[word, default: []].append((index, start))
        isPossible[Int(word & 0xFFFF)] = true
      }
    }
    (self.forms, self.places, self.isPossible) = (forms, places, isPossible)
  }

  /// The longest part of each secret that occurs, in words.
  package func found(in bytes: [UInt8]) -> [String] {
    var longest = [Range<Int>](repeating: 0..<0, count: forms.count)
    unsafe bytes.withUnsafeBytes { bytes in
      unsafe isPossible.withUnsafeBufferPointer { isPossible in
        let words = unsafe bytes.bindMemory(to: UInt32.self)
        var index = 0
        while index < words.count {
          let word = unsafe UInt32(littleEndian: words[index])
          if word != 0, unsafe isPossible[Int(word & 0xFFFF)], let places = places[word] {
            var next = index
            for (number, place) in places {
              let form = forms[number]
              let run = unsafe Self.run(of: form, at: place, as: index * 4, in: bytes)
              if run.count > longest[number].count, !Self.isKnown(run, of: form) {
                longest[number] = run
              }
              // The words within a long run need no separate look.
              next = max(next, index + (run.upperBound - place) / 4 - 1)
            }
            index = next
          }
          index += 1
        }
      }
    }
    return zip(forms, longest).filter { $1.count >= $0.tooMany }.map {
      "\($0.name) (bytes \($1) of \($0.bytes.count))"
    }
  }

  /// How much of a secret occurs around an equal place.
  private static func run(
    of form: Form, at place: Int, as offset: Int, in bytes: UnsafeRawBufferPointer
  ) -> Range<Int> {
    let (shift, secret) = (offset - place, form.bytes)
    var (start, end) = (place, place + 4)
    while start > 0, start + shift > 0, unsafe bytes[start + shift - 1] == secret[start - 1] {
      start -= 1
    }
    while end < secret.count, end + shift < bytes.count, unsafe bytes[end + shift] == secret[end] {
      end += 1
    }
    return start..<end
  }

  /// Whether a run belongs to the texts that may be in memory. A few bytes after it may be equal by
  /// chance, because all session tokens begin in the same way.
  private static func isKnown(_ run: Range<Int>, of form: Form) -> Bool {
    let byChance = run.count >= 2 * form.tooMany ? form.tooMany - 1 : 0
    let part = Data(form.bytes[run.dropLast(byChance)])
    return form.besides.contains { $0.range(of: part) != nil }
  }
}

/// The forms in which a program may write a secret.
private enum SecretEncoding: CaseIterable {
  case asItIs
  /// The three forms of a part, which depend on the place where it begins.
  case base64, base64After1, base64After2
  case hexadecimal, upperHexadecimal, percent, json

  /// If a secret is longer, only its beginning is searched in the encoded forms.
  private static let longest = 4096

  var words: String {
    switch self {
    case .asItIs: ""
    case .base64, .base64After1, .base64After2: " in base64"
    case .hexadecimal, .upperHexadecimal: " in hexadecimal digits"
    case .percent: " per cent"
    case .json: " as text of JSON"
    }
  }

  /// How many encoded bytes represent `count` bytes of the secret.
  func length(of count: Int) -> Int {
    switch self {
    case .asItIs, .percent, .json: count
    case .base64, .base64After1, .base64After2: (count + 2) / 3 * 4
    case .hexadecimal, .upperHexadecimal: count * 2
    }
  }

  /// The encoded secret; nil if it equals the secret or is too short.
  func bytes(of secret: String) -> [UInt8]? {
    let text = Array(secret.utf8)
    guard self != .asItIs else { return text }
    let bytes = encoded(text.prefix(Self.longest))
    return bytes.count >= length(of: MemoryScan.tooMany) && bytes[...] != text.prefix(Self.longest)
      ? bytes : nil
  }

  private func encoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    switch self {
    case .asItIs: Array(text)
    case .base64: Self.base64(text)
    case .base64After1: Self.base64(text.dropFirst())
    case .base64After2: Self.base64(text.dropFirst(2))
    case .hexadecimal: text.flatMap { Self.digits($0, "0123456789abcdef") }
    case .upperHexadecimal: text.flatMap { Self.digits($0, "0123456789ABCDEF") }
    case .percent:
      text.flatMap { byte in
        let isPlain =
          UnicodeScalar(byte).properties.isAlphabetic && byte < 0x80
          || (0x30...0x39).contains(byte) || "-._~".utf8.contains(byte)
        return isPlain ? [byte] : [0x25] + Self.digits(byte, "0123456789ABCDEF")
      }
    case .json: text.flatMap { $0 == 0x2F || $0 == 0x22 || $0 == 0x5C ? [0x5C, $0] : [$0] }
    }
  }

  private static func digits(_ byte: UInt8, _ digits: String) -> [UInt8] {
    let digits = Array(digits.utf8)
    return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }

  /// Only whole groups of three bytes, because the following bytes decide how the rest is written.
  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8] {
    Array(Data(text.prefix(text.count / 3 * 3)).base64EncodedString().utf8)
  }
}
