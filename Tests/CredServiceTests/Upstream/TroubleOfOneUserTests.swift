import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// One user's trouble at a backend is no other user's, and what the backend says of it neither.
struct TroubleOfOneUserTests {
  private static let words = "bob's mailbox is over its quota"

  /// Every user is known to the backend by the own name, and it has a fault for bob alone.
  private func fixture(_ status: Int, _ keys: String = "") throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.http() + Configured.profile("default", identifier: "{user}", keys))
    fixture.host.queries.users[1002] = UserEntry(uid: 1002, name: "carol")
    fixture.host.http.answer = { [upstreams = fixture.host.upstreams] request in
      guard request.operation == "token", request.json?["DeveloperUserIdentifier"]?.text == "bob"
      else { return upstreams.answer(request) }
      return .reply(status, #"{"message":"\#(Self.words)"}"#)
    }
    return fixture
  }

  @Test(arguments: [500, 503, 429, 408, 400, 302])
  func `others are served while the backend fails for one user`(_ status: Int) throws {
    let fixture = try fixture(status)
    for _ in 0..<20 {
      let refused = try fixture.ask(#"{"wait":0}"#, uid: 1001)
      expect(refused.accessKeyID == nil)
      fixture.advance(by: .seconds(10))
    }
    // At once after a failure, when a call to an endpoint that is away would not be tried.
    _ = try fixture.ask(#"{"wait":0}"#, uid: 1001)
    let served = try fixture.ask(#"{"wait":0.5}"#, uid: 1000)
    expect(served.accessKeyID != nil, "\(served)")
  }

  @Test func `a backend's words about a user are for that user alone`() throws {
    let fixture = try fixture(500, "impersonate = carol")
    let own = try fixture.ask(#"{"wait":1}"#, uid: 1001)
    expect(own.errorMessage?.contains(Self.words) == true, "\(own)")
    let impersonator = try fixture.ask(#"{"wait":1,"user":"bob"}"#, uid: 1002)
    expect(impersonator.errorCode, equals: "BackendUnavailable", "\(impersonator)")
    expect(impersonator.errorMessage?.contains("(status 500)") == true, "\(impersonator)")
    expect(!impersonator.text.contains("mailbox"))
  }

  @Test func `another person with the same uid sees no error of the former`() throws {
    let fixture = try fixture(500)
    _ = try fixture.ask(#"{"wait":1}"#, uid: 1001)
    expect(try fixture.ask(#"{"op":"status"}"#, uid: 1001).text.contains("mailbox"))
    fixture.host.queries.users[1001] = UserEntry(uid: 1001, name: "dave")
    fixture.advance(by: .seconds(3600))
    expect(try fixture.ask(uid: 1001).accessKeyID != nil)
    expect(try !fixture.ask(#"{"op":"status"}"#, uid: 1001).text.contains("mailbox"))
  }
}
