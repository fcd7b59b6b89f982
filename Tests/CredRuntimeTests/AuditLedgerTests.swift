import Testing

@testable import CredRuntime

struct AuditLedgerTests {
  private var ledger = AuditLedger()

  // `#expect` takes no mutating calls.
  private mutating func isNew(_ pid: Int32) -> Bool { ledger.isNew(pid) }

  @Test mutating func `a process is new once for each issue of credentials`() {
    #expect(isNew(1) == true)
    #expect(isNew(1) == false)
    #expect(isNew(2) == true)
    ledger.begin()
    #expect(isNew(1) == true)
  }

  @Test mutating func `it stays small`() {
    for pid in 1...100_000 as ClosedRange<Int32> { #expect(isNew(pid) == true) }
    #expect(isNew(100_000) == false)
  }
}
