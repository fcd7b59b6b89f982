import CredCore
import Logging
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A host whose /proc shows a user's own processes alone (`hidepid=`): credd sees no caller's unit.
struct HiddenUnitTests {
  private let fixture: ServiceFixture

  init() throws {
    fixture = try ServiceFixture(Configured.usual(profile: "allow_units = billing.service"))
  }

  private var warnings: [LogBook.Entry] {
    fixture.host.log.entries.filter { $0.level == .warning && $0.message.contains("hidepid=") }
  }

  private func ask(_ uid: UInt32, unit: String?, isHidden: Bool) throws -> Reply {
    let client = fixture.connect(uid: uid, pid: 70)
    client.systemdUnit = unit
    client.isUnitHidden = isHidden
    return try client.ask("{}")
  }

  @Test func oneWarningSaysWhyAllowUnitsRefuses() throws {
    for uid in [1000, 1001, 1000] as [UInt32] {
      expect(try ask(uid, unit: nil, isHidden: true).errorCode, equals: "AccessDenied")
    }
    expect(warnings.count == 1 && warnings[0].message.contains("allow_units"), "\(warnings)")
  }

  @Test func aCallerWithoutAUnitIsNoReasonForIt() throws {
    expect(try ask(1000, unit: nil, isHidden: false).errorCode, equals: "AccessDenied")
    expect(try ask(1000, unit: "billing.service", isHidden: true).accessKeyID != nil)
    expect(warnings.isEmpty)
  }
}
