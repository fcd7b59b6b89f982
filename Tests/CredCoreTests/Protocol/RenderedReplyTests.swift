import CredCore
import TestSupport
import Testing

struct RenderedReplyTests {
  private func text(_ reply: RenderedReply, id: RequestID? = nil) -> String {
    var buffer: [UInt8] = []
    reply.append(to: &buffer, id: id)
    return String(decoding: buffer, as: UTF8.self)
  }

  private let noon = WallTime(milliseconds: 1_714_979_289_999)

  @Test func credentialsAreInTheCredentialProcessFormat() {
    let reply = RenderedReply.credentials(
      Credentials(
        accessKeyID: "ASIAX", secretAccessKey: Secret("s/+="), sessionToken: Secret("t"),
        expiration: noon))
    expect(
      text(reply),
      equals: #"{"Version":1,"AccessKeyId":"ASIAX","SecretAccessKey":"s/+=","SessionToken":"t","#
        + #""Expiration":"2024-05-06T07:08:09Z"}"# + "\n")
    expect("\(reply)", equals: "<reply>")
  }

  @Test func theAccountComesLast() {
    let reply = RenderedReply.credentials(
      Credentials(
        accessKeyID: "A", secretAccessKey: Secret("S"), sessionToken: Secret("T"),
        expiration: noon, accountID: "123456789012"))
    expect(text(reply).hasSuffix(#""2024-05-06T07:08:09Z","AccountId":"123456789012"}"# + "\n"))
  }

  @Test func anIDIsTheLastMember() {
    let reply = RenderedReply.released(profile: "work", waiters: 3)
    let plain = #"{"Version":1,"Profile":"work","Released":3"#
    expect(text(reply), equals: plain + "}\n")
    expect(text(reply, id: RequestID(7)), equals: plain + ",\"Id\":7}\n")
    expect(text(reply, id: RequestID("a\"b")), equals: plain + ",\"Id\":\"a\\\"b\"}\n")
  }

  @Test func tokens() throws {
    let identityID = try IdentityID("us-east-1:11111111-2222-3333-4444-555555555555")
    // {"exp":1714979289}
    let jwt = "eyJ9.eyJleHAiOjE3MTQ5NzkyODl9.c2ln"
    expect(
      text(.token(try DeveloperToken(Secret(jwt)), of: identityID)),
      equals: #"{"Version":1,"IdentityId":"us-east-1:11111111-2222-3333-4444-555555555555","#
        + #""Token":"\#(jwt)","Expiration":"2024-05-06T07:08:09Z"}"# + "\n")
    expect(
      text(.token(try DeveloperToken(Secret("t")), of: try IdentityID("a:0"))),
      equals: #"{"Version":1,"IdentityId":"a:0","Token":"t"}"# + "\n")
  }

  @Test func sessions() throws {
    expect(
      text(.session(profile: "work", state: .signedIn, identityID: try IdentityID("a:0"))),
      equals: #"{"Version":1,"Profile":"work","State":"signedIn","IdentityId":"a:0"}"# + "\n")
    expect(
      text(.session(profile: "work", state: .signedOut)),
      equals: #"{"Version":1,"Profile":"work","State":"signedOut"}"# + "\n")
    expect(
      text(.released(profile: "work", waiters: 3)),
      equals: #"{"Version":1,"Profile":"work","Released":3}"# + "\n")
  }

  @Test func errors() {
    expect(
      text(.error(ProtocolError(.signInRequired, "run \"credctl login\""))),
      equals: #"{"Version":1,"Error":{"Code":"SignInRequired","Message":"run \"credctl login\"","#
        + #""Kind":"signIn"}}"# + "\n")
    expect(
      text(
        .error(ProtocolError(.throttled, "m", retryAfter: .milliseconds(29_001))),
        id: RequestID("x")),
      equals: #"{"Version":1,"Error":{"Code":"Throttled","Message":"m","RetryAfter":30,"#
        + #""Kind":"temporary"},"Id":"x"}"# + "\n")
    expect(
      text(.error(ProtocolError(.throttled, "m", retryAfter: .seconds(-1))))
        .contains(#""RetryAfter":0,"#))
    var named = ProtocolError(.backendRejected, "m")
    named.reason = "NotVouched"
    named.messageForOthers = "for others"
    expect(
      text(.error(named)),
      equals: #"{"Version":1,"Error":{"Code":"BackendRejected","Message":"m","Kind":"denied","#
        + #""Reason":"NotVouched"}}"# + "\n")
  }

  @Test func everyStepRendersWhatItsClientNeeds() throws {
    let handle = try #require(ChallengeHandle("00112233445566778899aabbccddeeff"))
    let rows: [(SignInStep, String)] = [
      (
        .code(.sms, destination: "+***99"),
        #""Step":"code","Name":"N","Parameters":{"Medium":"sms","Destination":"+***99"},"#
          + #""Answers":["code"],"Optional":[]"#
      ),
      (
        .code(.app, destination: nil),
        #""Step":"code","Name":"N","Parameters":{"Medium":"app"},"Answers":["code"],"Optional":[]"#
      ),
      (
        .newPassword(
          required: ["given_name"], attributes: [.init(name: "email", value: Secret("a\"b"))]),
        #""Step":"newPassword","Name":"N","Parameters":{"Required":["given_name"],"#
          + #""Attributes":{"email":"a\"b"}},"Answers":["password"],"Optional":["attributes"]"#
      ),
      (
        .select(["A", "B"]),
        #""Step":"select","Name":"N","Parameters":{"Choices":["A","B"]},"Answers":["choice"],"#
          + #""Optional":[]"#
      ),
      (
        .password,
        #""Step":"password","Name":"N","Parameters":{},"Answers":["password"],"Optional":[]"#
      ),
      (
        .totpSetup(secret: Secret("ABC"), uri: Secret("otpauth://x")),
        #""Step":"totpSetup","Name":"N","Parameters":{"Secret":"ABC","Uri":"otpauth://x"},"#
          + #""Answers":["code"],"Optional":["name"]"#
      ),
      (
        .custom([.init(name: "q", value: Secret("2+3?"))]),
        #""Step":"custom","Name":"N","Parameters":{"q":"2+3?"},"Answers":["answer"],"Optional":[]"#
      ),
      (
        .browser(
          url: Secret("https://a/?b=c"), redirectURI: "http://127.0.0.1:1/", state: Secret("s")),
        #""Step":"browser","Name":"N","Parameters":{"Url":"https://a/?b=c","#
          + #""RedirectUri":"http://127.0.0.1:1/","State":"s"},"Answers":["response"],"#
          + #""Optional":[]"#
      ),
      (
        .device(
          userCode: "A-B", url: "https://a/", completeURL: "https://a/?c=A-B",
          interval: .seconds(5)),
        #""Step":"device","Name":"N","Parameters":{"UserCode":"A-B","Url":"https://a/","#
          + #""CompleteUrl":"https://a/?c=A-B","Interval":5},"Answers":[],"Optional":[]"#
      ),
      (
        .confirm(
          issuer: "https://a/", subject: "s", username: "bob", replaces: "alice", linksTo: nil),
        #""Step":"confirm","Name":"N","Parameters":{"Issuer":"https://a/","Subject":"s","#
          + #""Username":"bob","Replaces":"alice"},"Answers":["confirm"],"Optional":[]"#
      ),
    ]
    for (step, expected) in rows {
      let reply = RenderedReply.challenge(
        SignInChallenge(step, name: "N"), handle, profile: "work", state: .signedOut,
        remaining: .milliseconds(179_900))
      expect(
        text(reply),
        equals: #"{"Version":1,"Profile":"work","State":"signedOut","Challenge":{"#
          + #""Handle":"00112233445566778899aabbccddeeff",\#(expected),"ExpiresIn":179}}"# + "\n")
    }
  }

  @Test func anErrorNamesTheChallengeThatMayBeAnsweredAgain() throws {
    var error = ProtocolError(.signInFailed, "m")
    error.handle = ChallengeHandle("00112233445566778899aabbccddeeff")
    expect(
      text(.error(error)),
      equals: #"{"Version":1,"Error":{"Code":"SignInFailed","Message":"m","Kind":"signIn","#
        + #""Handle":"00112233445566778899aabbccddeeff"}}"# + "\n")
  }

  @Test func aWatcherLearnsOfAChallengeWithoutItsHandle() {
    let event = RenderedReply.event(
      .challenge(
        SignInChallenge(.code(.sms, destination: "+***99"), name: "SMS_MFA"),
        remaining: .seconds(180)), profile: "work")
    expect(
      text(event),
      equals: #"{"Version":1,"Event":"challenge","Profile":"work","Step":"code","Name":"SMS_MFA","#
        + #""ExpiresIn":180}"# + "\n")
  }

  @Test func everyCodeOfTheContract() {
    let codes = [
      "InvalidRequest", "RequestTooLarge", "UnknownOperation", "UnknownProfile", "AccessDenied",
      "SignInRequired", "SignInFailed", "BackendRejected", "BackendUnavailable", "TokenRejected",
      "Throttled", "CognitoUnavailable", "IdentityConflict", "PoolMisconfigured", "AccountRefused",
      "ConfirmationRequired", "PasswordResetRequired", "UnknownChallenge",
      "EndpointOff", "Timeout", "TooManyRequests", "ShuttingDown",
      "Internal",
    ]
    expect(ProtocolErrorCode.allCases.map(\.rawValue), equals: codes)
  }

  @Test func statusShowsEverythingKnown() throws {
    let full = SessionReport(
      profile: "work", user: "zoë", uid: 1000, state: .tokensInvalid,
      identityID: try IdentityID("a:0"),
      expiration: noon, nextRefresh: noon, nextRefreshReason: "half of the lifetime",
      lastError: .init(code: .timeout, message: "no answer", at: noon), failures: 2,
      lastRefresh: noon, waiters: 1,
      lastCaller: .init(pid: 42, unit: "app.service"))
    let bare = SessionReport(profile: "p", user: nil, uid: 4_294_967_294, state: .signedOut)
    let daemon = DaemonReport(
      version: "1", pid: 9, uptime: .milliseconds(61_900), sessions: 2, connections: 3,
      requests: 4, backendCalls: 5, exchanges: 6,
      listeners: [
        ListenerReport(.socket, address: "/run/credd/credd.sock"),
        ListenerReport(.endpoint, address: "127.0.0.1:337"),
      ], configured: noon, clockSkew: .seconds(-90),
      reloadProblem: "no backend", stateDirectory: "disk full")
    let time = #""2024-05-06T07:08:09Z""#
    expect(
      text(.status([full, bare], of: daemon)),
      equals: #"{"Version":1,"Sessions":[{"Profile":"work","User":"zoë","Uid":1000,"#
        + #""State":"tokensInvalid","IdentityId":"a:0","Expiration":\#(time),"#
        + #""NextRefresh":\#(time),"NextRefreshReason":"half of the lifetime","#
        + #""LastError":{"Code":"Timeout","Message":"no answer","At":\#(time)},"#
        + #""Failures":2,"LastRefresh":\#(time),"Waiters":1,"#
        + #""LastCaller":{"Pid":42,"Unit":"app.service"}},"#
        + #"{"Profile":"p","Uid":4294967294,"State":"signedOut","Failures":0,"Waiters":0}],"#
        + #""Daemon":{"Version":"1","Pid":9,"Uptime":61,"Sessions":2,"Connections":3,"#
        + #""Requests":4,"BackendCalls":5,"Exchanges":6,"#
        + #""Listeners":[{"Kind":"socket","Address":"/run/credd/credd.sock"},"#
        + #"{"Kind":"endpoint","Address":"127.0.0.1:337"}],"#
        + #""Configured":\#(time),"ClockSkew":-90,"#
        + #""ReloadError":"no backend","StateDirectory":"disk full"}}"# + "\n")
  }

  @Test(
    arguments: [
      (nil, "app.service", #","LastCaller":{"Unit":"app.service"}"#), (nil, nil, ""),
    ] as [(Int32?, String?, String)])
  func statusLeavesOutWhatIsNotKnownOfACaller(pid: Int32?, unit: String?, shown: String) {
    let session = SessionReport(
      profile: "p", user: nil, uid: 1, state: .guest, lastCaller: .init(pid: pid, unit: unit))
    let daemon = DaemonReport(
      version: "1", pid: 9, uptime: .zero, sessions: 1, connections: 0, requests: 0,
      backendCalls: 0, exchanges: 0, configured: noon)
    expect(text(.status([session], of: daemon)).contains(#""Waiters":0\#(shown)}]"#))
  }

  @Test func statusListsProfiles() {
    let daemon = DaemonReport(
      version: "1", pid: 9, uptime: .zero, sessions: 0, connections: 0, requests: 0,
      backendCalls: 0, exchanges: 0, configured: noon)
    let profiles = [
      ProfileReport(name: "work", means: [.host, .token, .logins]),
      ProfileReport(name: "x", means: []),
    ]
    expect(
      text(.status([], profiles: profiles, of: daemon)).contains(
        #""Sessions":[],"Profiles":[{"Profile":"work","SignIn":{"Means":["host","token","logins"]}},"#
          + #"{"Profile":"x","SignIn":{"Means":[]}}],"Daemon":{"#))
  }

  @Test func events() throws {
    let a0 = try IdentityID("a:0")
    let a1 = try IdentityID("a:1")
    let events: [(SessionEvent, String)] = [
      (
        .state(.guest, identityID: a0),
        #""Event":"state","Profile":"p","State":"guest","IdentityId":"a:0""#
      ),
      (
        .state(.signedOut, identityID: nil),
        #""Event":"state","Profile":"p","State":"signedOut""#
      ),
      (
        .identityChanged(previous: a0, current: a1),
        #""Event":"identityChanged","Profile":"p","PreviousIdentityId":"a:0","IdentityId":"a:1""#
      ),
      (
        .refreshed(
          identityID: a0, expiration: WallTime(milliseconds: 0),
          nextRefresh: WallTime(milliseconds: -1000)),
        #""Event":"refreshed","Profile":"p","IdentityId":"a:0","#
          + #""Expiration":"1970-01-01T00:00:00Z","NextRefresh":"1969-12-31T23:59:59Z""#
      ),
      (
        .degraded(ProtocolError(.backendUnavailable, "m"), expiration: nil),
        #""Event":"degraded","Profile":"p","Error":{"Code":"BackendUnavailable","Message":"m","#
          + #""Kind":"temporary"}"#
      ),
    ]
    for (event, members) in events {
      expect(text(.event(event, profile: "p")), equals: "{\"Version\":1,\(members)}\n")
    }
  }
}
