import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What `check` says of a user pool before anybody has signed in there.
struct PoolCheckTests {
  private func check(_ answer: FakeHTTP.Answer) throws -> (reply: Reply, url: String?) {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    let usual = fixture.host.http.answer
    var url: String?
    fixture.host.http.answer = { request in
      guard request.url.hasPrefix("http://127.0.0.1:4600") else { return usual(request) }
      url = request.url
      return answer
    }
    return (try fixture.ask(#"{"op":"check"}"#), url)
  }

  /// At a sign-in such a pool says that the password is wrong.
  @Test func aPoolThatDoesNotExistIsNamed() throws {
    let said = #"{"message":"User pool \#(FakePool.id) does not exist."}"#
    let (reply, url) = try check(.reply(404, said))
    expect(url, equals: "http://127.0.0.1:4600/\(FakePool.id)/.well-known/jwks.json")
    expect(reply.failedSteps.contains("backend staff"), "\(reply)")
    let detail = reply.steps.first { $0.name == "backend staff" }?.detail
    expect(
      detail?.contains("has no user pool of this id: check user_pool_id and its region") == true,
      "\(reply)")
  }

  /// An emulator may have no such document.
  @Test(arguments: [
    FakeHTTP.Answer.reply(200, #"{"keys":[]}"#), .reply(404, #"{"message":"Not Found"}"#),
    .reply(403, ""),
  ])
  func anyOtherAnswerShowsThatThePoolsServerWorks(_ answer: FakeHTTP.Answer) throws {
    let (reply, _) = try check(answer)
    expect(!reply.failedSteps.contains("backend staff"), "\(reply)")
    let detail = reply.steps.first { $0.name == "backend staff" }?.detail
    expect(detail?.hasPrefix("reachable") == true, "\(reply)")
  }
}
