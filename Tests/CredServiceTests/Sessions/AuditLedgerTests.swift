import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

struct AuditLedgerTests {
  private var ledger = AuditLedger()

  // `#expect` takes no mutating calls.
  private mutating func isNew(
    _ pid: Int32, uid: UInt32 = 1000, at seconds: Int64 = 0, began: Int64? = nil
  ) -> Bool {
    let process = AuditLedger.Process(pid: pid, uid: uid)
    return ledger.isNew(process, now: Instant(nanoseconds: seconds * 1_000_000_000)) {
      began.map { Instant(nanoseconds: $0 * 1_000_000_000) }
    }
  }

  @Test mutating func `a process is new once for each issue of credentials`() {
    expect(isNew(1) == true)
    expect(isNew(1) == false)
    expect(isNew(2) == true)
    ledger.begin("AKIA1", received: Instant(nanoseconds: 0))
    expect(isNew(1) == true)
    // A refused sign-in gives them back.
    ledger.begin("AKIA1", received: Instant(nanoseconds: 0))
    expect(isNew(1) == false)
  }

  @Test mutating func `a pid that was given anew is another process`() {
    expect(isNew(1, at: 10, began: 5) == true)
    expect(isNew(1, at: 100, began: 5) == false)
    expect(isNew(1, at: 500, began: 200) == true)
    expect(isNew(1, at: 900, began: 200) == false)
    expect(isNew(1, at: 2000, began: nil) == true)
  }

  @Test mutating func `a process that has become another user's is new`() {
    expect(isNew(1, uid: 1000) == true)
    expect(isNew(1, uid: 0) == true)
    expect(isNew(1, uid: 1000) == false)
    expect(isNew(1, uid: 0) == false)
  }

  @Test mutating func `processes without a number are told apart by nothing`() {
    expect(isNew(0) == true)
    expect(isNew(0) == true)
  }

  @Test mutating func `it stays small`() {
    for pid in 1...100_000 as ClosedRange<Int32> { expect(isNew(pid) == true) }
    expect(isNew(100_000) == false)
  }
}
