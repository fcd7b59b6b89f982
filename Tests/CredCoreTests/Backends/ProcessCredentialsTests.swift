import TestSupport
import Testing

@testable import CredCore

/// The output of a credential_process, and what is said of a wrong one.
struct ProcessCredentialsTests {
  private func problem(_ members: String) -> String? {
    do throws(InvalidInput) {
      _ = try DeveloperCredentials(processOutput: Secret("{\(members)}"))
      return nil
    } catch {
      return error.reason
    }
  }

  private static let keys = #""AccessKeyId":"AKIA","SecretAccessKey":"s""#

  @Test(arguments: ["1767323045", "[\"2030-01-02T03:04:05Z\"]", "\"soon\"", "true", "\"\""])
  func anExpirationThatIsNoTimeIsNamed(_ value: String) {
    let reason = problem(#""Version":1,\#(Self.keys),"Expiration":\#(value)"#)
    expect(
      reason,
      equals: "printed an Expiration that is no time: it must be a text like 2030-01-02T03:04:05Z")
  }

  @Test(arguments: ["", #","Expiration":null"#, #","Expiration":"2030-01-02T03:04:05Z""#])
  func keysMayHaveNoEnd(_ end: String) {
    expect(problem(#""Version":1,\#(Self.keys)\#(end)"#) == nil)
  }

  @Test(
    arguments: [
      (#""Version":"1","#, "a Version that is a text"), ("", "no Version"),
      (#""Version":2,"#, "another Version"), (#""Version":[1],"#, "a Version that is no number"),
    ])
  func aWrongVersionIsNamed(_ version: String, _ words: String) {
    expect(
      problem(version + Self.keys),
      equals: "printed \(words): it must have \"Version\": 1, as a number")
  }

  @Test func whatIsMissingIsNamed() {
    expect(problem(#""Version":1,"SecretAccessKey":"s""#), equals: "printed no AccessKeyId")
    expect(problem(#""Version":1,"AccessKeyId":"AKIA""#), equals: "printed no SecretAccessKey")
  }
}
