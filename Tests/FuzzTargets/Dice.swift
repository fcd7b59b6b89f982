public import SeededRandom

/// The choices of a grammar and of damage: the same ones for the same seed, everywhere.
public typealias Dice = SeededGenerator

extension Dice {
  /// Uniform in `0..<limit`; 0 where the limit is none.
  public mutating func number(_ limit: Int) -> Int {
    Int(next() >> 1) % max(limit, 1)
  }

  public mutating func number(in range: ClosedRange<Int>) -> Int {
    range.lowerBound + number(range.count)
  }

  /// True once in `count` throws.
  public mutating func once(in count: Int) -> Bool { number(count) == 0 }

  /// One of the elements, of which there must be one.
  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(elements.count)]
  }

  public mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }

  public mutating func text(_ alphabet: String, _ length: ClosedRange<Int>) -> String {
    let characters = Array(alphabet)
    return String((0..<number(in: length)).map { _ in pick(characters) })
  }
}

extension Dice {
  /// Changes bytes at one place: a bit, a byte, a piece removed, repeated, cut off, taken from
  /// another input, or one of `pieces` inserted.
  mutating func damage(_ bytes: inout [UInt8], with other: [UInt8], pieces: [String]) {
    let place = number(bytes.count + 1)
    let end = min(bytes.count, place + number(20) + 1)
    switch number(9) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(8))
    case 1 where place < bytes.count: bytes[place] = UInt8(number(256))
    case 2: bytes.removeSubrange(place..<end)
    case 3: bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
    case 4: bytes.removeSubrange(place...)
    case 5:
      let from = number(other.count + 1)
      let piece = other[from..<min(other.count, from + number(40) + 1)]
      bytes.insert(contentsOf: Array(piece), at: place)
    case 6 where place < end: bytes.replaceSubrange(place..<end, with: pick(pieces).utf8)
    default: bytes.insert(contentsOf: pick(pieces).utf8, at: place)
    }
  }
}
