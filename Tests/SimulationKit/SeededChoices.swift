import SeededRandom

/// Choices of a simulation.
extension SeededGenerator {
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
