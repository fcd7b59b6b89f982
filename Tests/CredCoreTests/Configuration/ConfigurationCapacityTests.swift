import TestSupport
import Testing

@testable import CredCore

/// Whether a rate limit can renew the sessions that `max_sessions` allows.
struct ConfigurationCapacityTests {
  @Test func theDefaultRatesAreSufficient() {
    expect(problems(inProfile: ""), equals: [])
    expect(problems(inBackend: "exec", "command = /bin/token"), equals: [])
  }

  /// A rate of 50/s renews exactly 90,000 sessions in half an hour.
  @Test(arguments: [(90_000, true), (90_001, false)])
  func warnsIfABackendsRateIsTooLow(_ sessions: Int, _ isEnough: Bool) {
    let found = problems(
      "[daemon]\nmax_sessions = \(sessions)\n[backend b]\ntype = exec\ncommand = /x\n"
        + userOfBackend)
    let warning =
      "credd.conf:6: warning: rate_limit of [backend b]: 50/s renews 90000 sessions of 1h, and "
      + "max_sessions allows 90001"
    expect(found, equals: (isEnough ? [] : [warning]))
  }

  @Test func warnsIfTheRateOfExchangesIsTooLow() {
    expect(
      problems("[daemon]\nget_credentials_rate_limit = 5/s\n" + plainProfile),
      equals: [
        "credd.conf:3: warning: get_credentials_rate_limit: 5/s renews 9000 sessions of 1h, and "
          + "max_sessions allows 10000"
      ])
  }

  @Test func shorterSessionsNeedAHigherRate() {
    let basic =
      "[daemon]\nassume_role_rate_limit = 10/s\n" + plainProfile
      + "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/x\nduration = "
    expect(problems(basic + "1h"), equals: [])
    expect(
      problems(basic + "30m"),
      equals: [
        "credd.conf:3: warning: assume_role_rate_limit: 10/s renews 9000 sessions of 30m, and "
          + "max_sessions allows 10000"
      ])
  }

  @Test func refusesAnInvalidRate() {
    expect(
      problems(inBackend: "exec", "command = /x\nrate_limit = fast"),
      equals: [
        "credd.conf:4: rate_limit: 'fast' is not a rate from 1/m to 10000/s, such as 25/s"
      ])
    expect(backend("exec", "command = /x\nrate_limit = 90/m")?.rateLimit, equals: .perMinute(90))
  }
}
