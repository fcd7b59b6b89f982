import CredCore
import TestSupport
import Testing

struct KnownRegionsTests {
  @Test(arguments: [
    ("us-esat-1", "us-east-1"), ("us-east1", "us-east-1"), ("eu_west_1", "eu-west-1"),
    ("eu-cental-1", "eu-central-1"), ("us-gov-wset-1", "us-gov-west-1"),
    ("cn-nort-1", "cn-north-1"),
  ])
  func aMisspeltRegionIsNearAKnownOne(region: String, meant: String) {
    expect(KnownRegions.contains(region), equals: false)
    expect(KnownRegions.suggestion(for: region), equals: meant)
  }

  @Test(arguments: ["eu-west-1", "eusc-de-east-1", "ap-southeast-7", "frankfurt", ""])
  func aKnownRegionAndAStrangeOneAreNearNone(region: String) {
    expect(KnownRegions.suggestion(for: region) == nil)
  }

  @Test func eachRegionHasTheShapeOfItsPartition() {
    expect(KnownRegions.all.filter { !AWSPartition.knows(region: $0) }, equals: [])
    expect(Set(KnownRegions.all).count, equals: KnownRegions.all.count)
    expect(
      Set(KnownRegions.all.map { AWSPartition(region: $0) }), equals: Set(AWSPartition.allCases))
  }
}
