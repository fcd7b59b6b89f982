import TestSupport
import Testing

@testable import CredCore

struct LogoutRequestTests {
  private func message(_ members: String) -> String? {
    do throws(RequestError) {
      _ = try Request.parse(Array(#"{"op":"logout"\#(members)}"#.utf8))
      return nil
    } catch {
      return error.error.message
    }
  }

  @Test func theBrowsersSessionEndsWithItsRefreshToken() {
    expect(message(#","sso":true"#) == nil)
    expect(message(#","sso":false,"revoke":false"#) == nil)
    expect(message(#","sso":true,"revoke":false"#)?.contains(#""revoke": false exclude"#) == true)
    expect(message(#","sso":"yes""#)?.contains(#""sso" must be"#) == true)
  }
}
