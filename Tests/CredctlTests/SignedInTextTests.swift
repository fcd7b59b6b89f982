import CredCore
import CredctlKit
import TestSupport
import Testing

/// Who is signed in, in words: somebody may have signed in with a wrong account.
struct SignedInTextTests {
  private func reply(_ members: String) throws -> JSONValue {
    try JSONValue.parse(
      Array(#"{"Profile":"work","State":"signedIn","IdentityId":"us-east-1:1"\#(members)}"#.utf8))
  }

  @Test(arguments: [
    (
      #","Username":"alice","Subject":"00u1","SignedInBy":"oidc""#,
      " by oidc as alice (00u1)"
    ),
    (#","Username":"alice","SignedInBy":"host""#, " by host as alice"),
    (#","Subject":"p1","SignedInBy":"logins""#, " by logins (p1)"),
    (#","Username":"p1","Subject":"p1","SignedInBy":"oidc""#, " by oidc as p1"),
    (#","SignedInBy":"token""#, " by token"),
    (
      #","Username":"al","SignedInBy":"oidc","SignedInUntil":"2026-01-01T00:00:00Z""#,
      " by oidc as al, until 2026-01-01T00:00:00Z"
    ),
    (#","SignedInBy":"guest""#, ""), ("", ""),
    (
      #","SignedInBy":"host","Username":"al","Source":"home","Policy":"p.json""#,
      " by host as al, from home, narrowed by p.json"
    ),
    // A name from a token cannot command a terminal.
    (#","Username":"a\u001b[2Jb\nc","SignedInBy":"oidc""#, " by oidc as a[2Jb c"),
  ])
  func theLineOfASessionSaysWho(_ members: String, _ expected: String) throws {
    expect(
      SignedInText.line(try reply(members)), equals: "work signedIn us-east-1:1\(expected)\n")
  }

  @Test func withoutAnIdentityThereIsADash() throws {
    expect(
      SignedInText.line(try JSONValue.parse(Array(#"{"Profile":"w","State":"signedOut"}"#.utf8))),
      equals: "w signedOut -\n")
  }

  @Test func theListOfProfilesSaysWhereSomebodyIsSignedIn() throws {
    let reply = try JSONValue.parse(
      Array(
        #"""
        {"Profiles":[{"Profile":"work","SignIn":{"Means":["device"]}},
        {"Profile":"other","SignIn":{"Means":["password"]}}],
        "Sessions":[{"Profile":"work","SignedInBy":"oidc","Username":"mallory","Subject":"00u9"}]}
        """#.utf8))
    expect(
      ProfileList.rendered(reply, on: TextTable.Display(width: nil, hasColour: false)),
      equals: """
        PROFILE  SIGN-IN   SIGNED IN BY
        work     device    oidc as mallory (00u9)
        other    password  -

        """)
  }
}
