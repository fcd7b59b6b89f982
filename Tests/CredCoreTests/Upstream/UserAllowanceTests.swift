import Testing

@testable import CredCore

struct UserAllowanceTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func aBurstAndThenARate() {
    var allowance = CallAllowance()
    for _ in 0..<CallAllowance.burst {
      #expect(allowance.pause(of: 1, now: start) == nil)
      allowance.spent(by: 1, now: start)
    }
    #expect(allowance.pause(of: 1, now: start) == CallAllowance.pause)
    let later = start + CallAllowance.pause
    #expect(allowance.pause(of: 1, now: later) == nil)
    allowance.spent(by: 1, now: later)
    #expect(allowance.pause(of: 1, now: later) == CallAllowance.pause)
  }

  @Test func oneUsersCallsAreNotAnothers() {
    var allowance = CallAllowance()
    for _ in 0..<CallAllowance.burst { allowance.spent(by: 1, now: start) }
    #expect(allowance.pause(of: 2, now: start) == nil)
  }

  @Test func whatIsNeverRefusedLeavesNoLongDebt() {
    var allowance = CallAllowance()
    for _ in 0..<10_000 { allowance.spent(by: 1, now: start) }
    #expect(allowance.pause(of: 1, now: start) == CallAllowance.pause)
  }

  @Test func whoSpentLeastIsForgottenFirst() {
    var allowance = CallAllowance()
    for _ in 0..<CallAllowance.burst { allowance.spent(by: 0, now: start) }
    for uid in 1..<UInt32(CallAllowance.users + 100) { allowance.spent(by: uid, now: start) }
    #expect(allowance.pause(of: 0, now: start) != nil)
  }
}
