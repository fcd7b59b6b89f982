import Testing

@testable import CredRuntime

/// Which reading of the configuration is applied.
struct ConfigurationReadingsTests {
  @Test func theLateResultOfAReadingIsNotTakenForTheNextOnes() {
    var readings = ConfigurationReadings()
    let hanging = readings.begin() ?? 0
    // It took too long and was given up; then somebody reloads again.
    #expect(readings.end(hanging) == .current)
    let next = readings.begin() ?? 0
    #expect(next != hanging)
    // Now the first one's thread comes back with what it read before.
    #expect(readings.end(hanging) == .late)
    #expect(readings.end(next) == .current)
    // And again, after all is done.
    #expect(readings.end(hanging) == .late)
    #expect(readings.end(next) == .late)
  }

  @Test func aReloadDuringAReadingReadsOnceMore() {
    var readings = ConfigurationReadings()
    let first = readings.begin() ?? 0
    let isSecond = readings.begin() != nil
    #expect(!isSecond)
    #expect(readings.end(first) == .outOfDate)
    let second = readings.begin() ?? 0
    #expect(readings.end(second) == .current)
  }
}
