import CredCore
import TestSupport
import Testing

struct SubordinateRangesTests {
  private func ranges(_ text: String) -> SubordinateRanges { SubordinateRanges(Array(text.utf8)) }

  private func owner(_ ranges: SubordinateRanges, _ uid: UInt32) -> SubordinateRanges.Owner? {
    let owners = ranges.ownerships(of: uid)
    return owners.count == 1 ? owners[0].owner : nil
  }

  @Test func aRangeHasItsOwnerFromTheFirstUidToTheLast() {
    let ranges = ranges("alice:100000:65536\n1001:165536:65536\n")
    expect(ranges.wrongLines.isEmpty)
    expect(owner(ranges, 99_999) == nil)
    expect(owner(ranges, 100_000), equals: .name("alice"))
    expect(owner(ranges, 165_535), equals: .name("alice"))
    expect(owner(ranges, 165_536), equals: .uid(1001))
    expect(owner(ranges, 231_071), equals: .uid(1001))
    expect(owner(ranges, 231_072) == nil)
  }

  @Test func allRangesOfAnOwnerHaveOneNumber() {
    let ranges = ranges("bob:500000:10\nalice:300000:10\nbob:200000:10")
    expect(ranges.ownerships(of: 500_005).first?.first, equals: 200_000)
    expect(ranges.ownerships(of: 200_005).first?.first, equals: 200_000)
    expect(ranges.ownerships(of: 300_000).first?.first, equals: 300_000)
  }

  @Test func aUidInTheRangesOfSeveralOwnersHasEach() {
    let ranges = ranges("containers:100000:1000000\nalice:200000:10\nbob:300000:10\n")
    expect(
      ranges.ownerships(of: 200_009).map(\.owner), equals: [.name("alice"), .name("containers")])
    expect(
      ranges.ownerships(of: 300_000).map(\.owner), equals: [.name("bob"), .name("containers")])
    expect(owner(ranges, 200_010), equals: .name("containers"))
    expect(owner(ranges, 300_010), equals: .name("containers"))
    expect(owner(ranges, 1_100_000) == nil)
  }

  @Test func aLineThatIsNoRangeIsLeftOutAndNamed() {
    let ranges = ranges(
      """
      # by hand
      alice:100000:65536

      bob:200000
      carol:300000:0
      :400000:10
      dave:-1:10
      erin:4294967290:6
      frank:4294967290:5
      grace:5:10:15
      heidi: 700000:10
      \(String(repeating: "x", count: 257)):800000:10
      """)
    expect(ranges.wrongLines, equals: [4, 5, 6, 7, 8, 10, 11, 12])
    expect(owner(ranges, 100_000), equals: .name("alice"))
    expect(owner(ranges, 4_294_967_294), equals: .name("frank"))
    expect(owner(ranges, .max) == nil)
  }

  @Test func withoutRangesNobodyHasAUid() {
    expect(owner(SubordinateRanges(), 0) == nil)
    expect(owner(ranges(""), 100_000) == nil)
    expect(owner(SubordinateRanges([0xFF, 0x3A, 0x31, 0x3A, 0x31]), 1) == nil)
  }

  @Test func eachAccountHasANumberOfItsOwn() {
    expect(Account.user(1000).number, equals: 1000)
    expect(Account.range(100_000).number, equals: 100_000)
    expect(Account.ownerless.number, equals: .max)
  }

  @Test func rangesOfOneOwnerMayOverlap() {
    let ranges = ranges("alice:200000:100\nalice:200050:100\n")
    expect(owner(ranges, 200_060), equals: .name("alice"))
  }

  @Test(arguments: ["ns-build-0", "ns-a-b-65535", "vu-web-33"])
  func namesThatTheSystemGivesAreKnown(_ name: String) { expect(SyntheticName.isOne(name)) }

  @Test(arguments: ["alice", "ns", "ns-1", "ns--1", "ns-a-", "ns-a-1b", "vuln-web-33", "xns-a-1"])
  func namesOfPeopleAreNot(_ name: String) { expect(!SyntheticName.isOne(name)) }
}
