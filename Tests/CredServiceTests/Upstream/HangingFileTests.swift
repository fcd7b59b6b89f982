import CredCore
import Testing

@testable import CredService

/// Files of the configuration on a disk that does not answer.
struct HangingFileTests {
  @Test func `a file that hangs takes one thread, however often it is asked for`() throws {
    let fixture = try ServiceFixture(
      Configured.http(backend: "bearer_token_file = /srv/dead/token")
        + Configured.profile("default"))
    let host = fixture.host
    host.queries.files["/srv/dead/token"] = "host-token"
    host.background.time[.files] = .some(nil)
    for _ in 0..<6 {
      let client = fixture.connect()
      client.send(#"{"wait":10}"#)
      fixture.advance(by: .seconds(60))
      #expect(try client.next().errorCode != nil)
      client.leave()
    }
    #expect(host.background.running(.files) == 1)
    #expect(host.http.requests.isEmpty)
    // The disk answers again: the next attempt reads the file anew.
    let asked = host.background.asked[.files] ?? 0
    host.background.time[.files] = .zero
    host.background.release(.files)
    fixture.advance(by: .seconds(600))
    let client = fixture.connect()
    client.send(#"{"wait":10}"#)
    fixture.advance(by: .seconds(10))
    #expect((host.background.asked[.files] ?? 0) > asked)
    #expect(try client.next().accessKeyID != nil)
  }
}
