@testable import CredCore
import TestSupport
import Testing

@testable import CredctlKit

/// Derived profiles in tables, and refusals that are about their sources.
struct DerivedTextTests {
  private static let wide = TextTable.Display(width: nil, hasColour: false)
  private static let now = WallTime(milliseconds: 1_767_225_600_000)

  private func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  @Test(arguments: [
    (#"{"Source":"work","Policy":"ro.json"}"#, "from work, narrowed by ro.json"),
    (#"{"Source":"work","RoleArn":"arn:aws:iam::1:role/a/r"}"#, "from work, role r of 1"),
    (#"{"Source":"work","RoleArn":"new:form"}"#, "from work, role new:form"),
    (
      #"{"Source":"work","RoleArn":"arn:aws:iam::1:role/r","Policy":"p"}"#,
      "from work, role r of 1, narrowed by p"
    ),
    (#"{"Source":"work"}"#, "from work, for a shorter time"),
    // Over a socket with a cap the source is not named.
    (#"{"Policy":"ro.json"}"#, "narrowed by ro.json"),
    (#"{"Credentials":false}"#, "for derived profiles alone"),
  ])
  func saysWhereCredentialsComeFrom(_ members: String, _ words: String) throws {
    expect(DerivedText.words(try json(members)), equals: words)
  }

  @Test func aProfileWithAnIdentityOfItsOwnSaysNothing() throws {
    expect(DerivedText.words(try json(#"{"Profile":"work","Credentials":true}"#)) == nil)
  }

  /// Scripts that cut a column get the same one as before.
  @Test func theColumnStandsBehindAllOthers() throws {
    let reply = try json(
      #"""
      {"Profiles":[{"Profile":"work","SignIn":{"Means":["host"]},"Credentials":false},
      {"Profile":"ro","SignIn":{"Means":["host"]},"Source":"work","Policy":"ro.json"},
      {"Profile":"home","SignIn":{"Means":["password"]}}],
      "Sessions":[{"Profile":"ro","SignedInBy":"host","Username":"al","Source":"work"}]}
      """#)
    expect(
      ProfileList.rendered(reply, on: Self.wide),
      equals: """
        PROFILE  SIGN-IN   SIGNED IN BY  CREDENTIALS
        work     host      -             for derived profiles alone
        ro       host      host as al    from work, narrowed by ro.json
        home     password  -             -

        """)
  }

  @Test func statusHasTheColumnWhereASessionIsDerived() throws {
    let text = StatusReport(
      try json(
        #"""
        {"Sessions":[{"Profile":"ro","State":"signedIn","Source":"work","Policy":"ro.json",
        "LastError":{"Code":"Timeout","Message":"slow"}},{"Profile":"work"}],"Daemon":{}}
        """#), now: Self.now
    ).rendered(on: Self.wide)
    let lines = text.split(separator: "\n").map(String.init)
    expect(lines[1].hasSuffix("LAST CALLER  LAST ERROR     SIGNED IN BY  CREDENTIALS"), "\(text)")
    expect(
      lines[2].hasSuffix("  Timeout: slow  -             from work, narrowed by ro.json"), "\(text)"
    )
    expect(lines[3].hasSuffix("  -"))
  }

  @Test(arguments: [60, 80, 120, 160])
  func theColumnFitsTheTerminal(_ width: Int) throws {
    let role = "arn:aws:iam::210987654321:role/" + String(repeating: "r", count: 64)
    let row = #"{"Profile":"partner","State":"signedIn","Source":"work","RoleArn":"\#(role)"}"#
    let reply = try json(#"{"Sessions":[\#(row)],"Profiles":[\#(row)],"Daemon":{}}"#)
    let display = TextTable.Display(width: width, hasColour: false)
    for text in [
      StatusReport(reply, now: Self.now).rendered(on: display),
      ProfileList.rendered(reply, on: display),
    ] {
      expect(text.split(separator: "\n").allSatisfy { $0.count <= width }, "\(text)")
      expect(text.contains("from work,"), "\(text)")
    }
  }

  private func failure(_ error: ProtocolError) -> Failure {
    var refusal = Refusal(
      code: error.code.rawValue, message: error.message, kind: error.kind.rawValue)
    refusal.reason = error.reason
    return Failure(refusal, profile: "ro")
  }

  /// The sign-in is the source's, so no command names the profile that was asked for.
  @Test func aRefusalAboutTheSourceGetsNoAdviceAboutTheProfile() {
    var error = ProtocolError(
      .signInRequired, "profile 'ro' is derived from 'work': an administrator must admit this user")
    expect(failure(error).message.hasSuffix("with 'credctl login --profile ro'"))
    error.reason = SignInReason.derivedProfile
    expect(failure(error).message, equals: error.message)
    expect(failure(error).status, equals: .notPermitted)
    error.code = .accessDenied
    expect(failure(error).message, equals: error.message)
  }

  /// No password is asked for that the profile cannot take.
  @Test func aLoginOfADerivedProfileAsksForNothing() {
    for code in [ProtocolErrorCode.invalidRequest, .signInRequired] {
      var error = ProtocolError(code, "profile 'ro' has no sign-in of its own")
      expect(failure(error).wantsMore)
      error.reason = SignInReason.derivedProfile
      expect(!failure(error).wantsMore && !failure(error).wantsPassword)
    }
  }
}
