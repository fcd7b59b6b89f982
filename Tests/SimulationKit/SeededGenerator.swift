/// A small generator whose sequence is the same everywhere (SplitMix64; Steele, Lea and Flood, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A separate generator: its use does not change the sequence of this one.
  mutating func fork() -> SeededGenerator { SeededGenerator(seed: next()) }

  /// Uniform in `0..<1`.
  mutating func fraction() -> Double {
    Double(next() >> 11) * 0x1p-53
  }

  /// Whether something of that probability happens.
  mutating func happens(_ probability: Double) -> Bool {
    fraction() < probability
  }

  /// Uniform in `0..<count`.
  mutating func index(_ count: Int) -> Int {
    Int(((next() >> 32) &* UInt64(count)) >> 32)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[index(elements.count)]
  }

  /// Seconds around a mean, from nothing to three times as long. Close to an exponential
  /// distribution, without a logarithm: a program without libm has none.
  mutating func seconds(around mean: Double) -> Double {
    let fraction = fraction()
    return mean * 3 * fraction * fraction + 0.001
  }
}
