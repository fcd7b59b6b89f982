import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Rows whose first profile has no identity pool.
extension RowStory {
  /// Asks for the ID token of a person, which must be the person's own, and for credentials, of which there
  /// are none.
  ///
  /// - Returns: the token; nil where it was refused.
  func expectToken(
    _ expected: RowExpectation.Answer, for person: RowCast.Person, in place: RowCast.Place,
    wait: Int, _ moment: String
  ) throws -> String? {
    let reply = try ask(person, place, #""op":"token","kind":"id","wait":\#(wait)"#)
    let isAdmitted = expected != .refused("AccessDenied")
    let get = try ask(person, place, #""wait":0"#)
    expect(get.errorCode, equals: isAdmitted ? "InvalidRequest" : "AccessDenied", "\(moment)")
    switch expected {
    case .refused(let code):
      expect(reply.errorCode, equals: code, "\(moment)")
      expect(reply["Token"] == nil, "\(moment)")
      return nil
    case .granted(let grant):
      let token = try #require(reply["Token"]?.text, "\(moment): \(reply.errorCode ?? "")")
      _ = reply.secrets()
      expect(try given(idToken: token), equals: grant, "\(moment)")
      return token
    }
  }

  /// What a token says of its user.
  private func given(idToken: String) throws -> RowExpectation.Grant {
    let parts = idToken.split(separator: ".")
    let part = parts.count == 3 ? String(parts[1]) : ""
    let text = part.replacing("-", with: "+").replacing("_", with: "/")
    let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let claims = try JSON(String(decoding: Data(base64Encoded: padded) ?? Data(), as: UTF8.self))
    expect(claims["token_use"]?.text, equals: "id")
    expect(claims["aud"]?.text, equals: cast.userPool.client)
    let subject = claims["sub"]?.text ?? ""
    return RowExpectation.Grant(
      pool: "", role: "", logins: [cast.userPool.provider: [poolUsers[subject] ?? subject]])
  }
}
