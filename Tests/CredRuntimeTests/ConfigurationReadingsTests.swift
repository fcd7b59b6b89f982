import TestSupport
import Testing

@testable import CredRuntime

/// Which reading of the configuration is applied.
struct ConfigurationReadingsTests {
  @Test func theLateResultOfAReadingIsNotTakenForTheNextOnes() {
    var readings = ConfigurationReadings()
    let hanging = readings.begin() ?? 0
    // It took too long and was given up; then somebody reloads again.
    expect(readings.end(hanging), equals: .current)
    let next = readings.begin() ?? 0
    expect(next != hanging)
    // Now the first one's thread comes back with what it read before.
    expect(readings.end(hanging), equals: .late)
    expect(readings.end(next), equals: .current)
    // And again, after all is done.
    expect(readings.end(hanging), equals: .late)
    expect(readings.end(next), equals: .late)
  }

  @Test func aReloadDuringAReadingReadsOnceMore() {
    var readings = ConfigurationReadings()
    let first = readings.begin() ?? 0
    let isSecond = readings.begin() != nil
    expect(!isSecond)
    expect(readings.end(first), equals: .outOfDate)
    let second = readings.begin() ?? 0
    expect(readings.end(second), equals: .current)
  }

  /// A daemon's reloads in any order: files change, requests come, readings end in time, or are given
  /// up and end later. What is applied was read after it was asked for; in the end it is what the
  /// files say.
  @Test(arguments: 1...500 as ClosedRange<UInt64>)
  func whatIsAppliedWasReadAfterItWasAskedFor(_ seed: UInt64) {
    var (state, readings) = (seed, ConfigurationReadings())
    func below(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    var (file, asked, applied) = (0, 0, 0)
    /// What is being read, and whether its time is over. A thread reads the files as it begins.
    var underWay: [(generation: Int, content: Int, isOverdue: Bool)] = []
    func begin() {
      if let generation = readings.begin() { underWay.append((generation, file, false)) }
    }
    func end(_ index: Int, isOverdue: Bool) {
      let reading = underWay[index]
      if isOverdue { underWay[index].isOverdue = true } else { underWay.remove(at: index) }
      switch readings.end(reading.generation) {
      case .late: expect(reading.isOverdue)
      case .outOfDate: begin()
      case .current:
        // A reading that was given up changes nothing.
        guard !isOverdue else { break }
        expect(reading.content >= asked, "what was there before the reload was applied")
        applied = reading.content
      }
    }
    for _ in 0..<60 {
      switch below(4) {
      case 0: file += 1
      case 1:
        asked = file
        begin()
      case 2 where !underWay.isEmpty: end(below(underWay.count), isOverdue: false)
      case 3:
        if let index = underWay.firstIndex(where: { !$0.isOverdue }) { end(index, isOverdue: true) }
      default: break
      }
    }
    asked = file
    begin()
    while !underWay.isEmpty { end(below(underWay.count), isOverdue: false) }
    expect(applied, equals: file)
  }
}
