import CredCore
import CredctlKit
import TestSupport
import Testing

struct StatusReportTests {
  /// 2026-01-01T00:00:00Z.
  private static let now = WallTime(milliseconds: 1_767_225_600_000)

  private func report(
    _ sessions: String, width: Int? = nil, hasColour: Bool = false
  ) throws -> String {
    let reply = #"{"Version":1,"Sessions":[\#(sessions)],"Daemon":{"Version":"1.2","Pid":7}}"#
    return StatusReport(try JSONValue.parse(Array(reply.utf8)), now: Self.now)
      .rendered(on: TextTable.Display(width: width, hasColour: hasColour))
  }

  private static let session = #"""
    {"Profile":"work","User":"alice","State":"signedIn","IdentityId":"us-east-1:1","SignedInBy":"oidc","Username":"al@x.com","Subject":"00u1",
    "Expiration":"2026-01-01T00:42:10Z","NextRefresh":"2026-01-01T00:12:00Z","NextRefreshReason":"half of the lifetime",
    "LastCaller":{"Pid":42,"Unit":"app.service"},"LastError":null}
    """#

  @Test func showsASession() throws {
    expect(
      try report(Self.session),
      equals: """
        credd 1.2, pid 7

        PROFILE  USER   STATE     IDENTITY     EXPIRES    REFRESH                          LAST CALLER  LAST ERROR  SIGNED IN BY
        work     alice  signedIn  us-east-1:1  in 42 min  in 12 min, half of the lifetime  app.service  -           oidc as al@x.com (00u1)

        """)
  }

  /// AWS ends credentials by its own clock. What credd does itself it says by the host's.
  @Test func aClockThatIsOffChangesNothingAboutTheTimeThatIsLeft() throws {
    let reply = try JSONValue.parse(
      Array(
        #"{"Version":1,"Sessions":[\#(Self.session)],"Daemon":{"ClockSkew":1200}}"#.utf8))
    let now = try #require(WallTime(iso8601: "2026-01-01T00:00:00Z"))
    let text = StatusReport(reply, now: now).rendered(on: .init(width: nil, hasColour: false))
    expect(text.contains("in 22 min  in 12 min, half"), "\(text)")
    expect(text.contains("this host's clock is 20 min slow: set it"))
  }

  /// Scripts count columns: those of the first version stay where they were.
  @Test func newColumnsStandBehindTheOlderOnes() throws {
    let first = [
      "PROFILE", "USER", "STATE", "IDENTITY", "EXPIRES", "REFRESH", "LAST CALLER", "LAST ERROR",
    ]
    for (width, columns) in [(nil, first), (200, first.dropLast())] as [(Int?, [String])] {
      let lines = try report(Self.session, width: width).split(separator: "\n")
      let header = lines.first { $0.hasPrefix("PROFILE") } ?? ""
      // Two blanks or more stand between columns.
      let names = header.split(separator: "  ").map { $0.drop { $0 == " " } }.map(String.init)
      expect(Array(names.prefix(columns.count)), equals: columns, "\(header)")
    }
  }

  @Test func reportsThatThereAreNoSessions() throws {
    expect(try report(""), equals: "credd 1.2, pid 7\nno sessions\n")
  }

  @Test func showsADashForMissingAndWrongMembers() throws {
    let row = try report(
      #"""
      {"Profile":"a\u001bb","Uid":1000,"State":"signedOut","Expiration":"2025-12-31T00:00:00Z",
      "LastError":{"Code":"Timeout","Message":"slow\nthing","At":"2025-12-31T23:00:00Z"}}
      """#
    ).split(separator: "\n").last
    let expected =
      "ab       1000  signedOut  -         expired  -        -            "
      + "60 min ago: Timeout: slow thing  -"
    expect(row.map(String.init), equals: expected)
  }

  @Test func coloursOnlyAPresentError() throws {
    let error = #""LastError":{"Code":"Timeout","Message":"m"},"Failures":"#
    let text = "- of -: Timeout: m"
    expect(
      try report("{\(error)2}", width: 80, hasColour: true).contains("\u{1B}[31m\(text)\u{1B}[0m"))
    expect(try report("{\(error)0}", width: 80, hasColour: true).contains("\n\(text)\n"))
  }

  @Test func rootIsToldThatThereMayBeMoreSessions() {
    expect(
      StatusReport.hint(uid: 0, showsAll: false),
      equals: "these are root's own sessions; --all shows every user's")
    expect(StatusReport.hint(uid: 0, showsAll: true) == nil)
    expect(StatusReport.hint(uid: 1000, showsAll: false) == nil)
  }

  @Test func rootWithoutSessionsIsToldThatOthersMayHaveSome() throws {
    let reply = try JSONValue.parse(
      Array(#"{"Version":1,"Sessions":[],"Daemon":{"Version":"1","Pid":7}}"#.utf8))
    let report = StatusReport(reply, isRootsAlone: true, now: WallTime(milliseconds: 0))
    expect(report.isEmpty)
    expect(
      report.rendered(on: TextTable.Display(width: nil, hasColour: false)),
      equals: "credd 1, pid 7\nno sessions of root; --all shows every user's\n")
  }

  @Test func theActionsOfAProfileAreKnownWhereTheDaemonSaysThem() throws {
    let reply = try JSONValue.parse(
      Array(
        #"{"Profiles":[{"Profile":"a","AccountActions":["get"]},{"Profile":"b","AccountActions":[]},{"Profile":"c"}]}"#
          .utf8))
    expect(ProfileList.offers(reply, "a"), equals: ["get"])
    expect(ProfileList.offers(reply, "b"), equals: [])
    expect(ProfileList.offers(reply, "c") == nil && ProfileList.offers(reply, "d") == nil)
  }

  @Test func showsTheUptime() throws {
    let daemon = try JSONValue.parse(Array(#"{"Version":"1","Pid":3,"Uptime":7300}"#.utf8))
    expect(DaemonLine(daemon).text, equals: "credd 1, pid 3, up 2 h")
    expect(DaemonLine(nil).text, equals: "credd")
    expect(DaemonLine(daemon).troubles, equals: [])
  }

  @Test(arguments: [nil, 80] as [Int?])
  func saysWhichSessionsAReplicaServes(_ width: Int?) throws {
    let session =
      #"{"Profile":"PROFILE","User":"alice","State":"signedIn","Region":"eu-central-1"}"#
    let sessions = ["work", "lab", "work"].map { session.replacing("PROFILE", with: $0) }
    let text = try report(sessions.joined(separator: ","), width: width)
    let head = text.split(separator: "\n").prefix { !$0.hasPrefix("PROFILE") }
    let line = head.joined(separator: " ").split(separator: " ").joined(separator: " ")
    expect(
      line.hasSuffix(
        "the user pool of lab, work is served by its replica in eu-central-1: its primary region "
          + "cannot be reached"), "\(text)")
    expect(try !report(Self.session).contains("replica"))
  }

  @Test func saysWhereTheDaemonListens() throws {
    let reply = #"""
      {"Sessions":[],"Daemon":{"Version":"1","Pid":3,"Listeners":[
      {"Kind":"socket","Address":"/run/credd/credd.sock"},
      {"Kind":"endpoint","Address":"127.0.0.1:337"},{"Kind":"tokens","Address":"/run/t"}]}}
      """#
    let text = StatusReport(try JSONValue.parse(Array(reply.utf8)), now: Self.now)
      .rendered(on: TextTable.Display(width: nil, hasColour: false))
    expect(
      text,
      equals: """
        credd 1, pid 3
        listens on /run/credd/credd.sock, 127.0.0.1:337 (endpoint), /run/t (tokens)
        no sessions

        """)
  }

  @Test func reportsProblemsOfTheDaemon() throws {
    let daemon = try JSONValue.parse(
      Array(
        #"{"ReloadError":"f:1:\nx","ReloadNeeded":"reload it","StateDirectory":"no space left on device","ClockSkew":-90}"#
          .utf8))
    expect(
      DaemonLine(daemon).troubles,
      equals: [
        "the configuration was not reloaded: f:1: x",
        "reload it",
        "identities are in memory alone: no space left on device",
        "this host's clock is 90 s fast: set it",
      ])
  }

  @Test(arguments: [60, 80, 100])
  func fitsTheTerminal(_ width: Int) throws {
    let long = Self.session.replacing(
      "null", with: #"{"Code":"\#(String(repeating: "Long", count: 40))"}"#)
    let text = try report(
      long.replacing("us-east-1:1", with: "us-east-1:\(UInt64.max)"), width: width)
    let lines = text.split(separator: "\n")
    expect(lines.allSatisfy { $0.count <= width }, "\(text)")
    expect(lines[1].hasPrefix("PROFILE  "))
    // The error is not cut.
    expect(text.filter { $0 != "\n" && $0 != " " }.contains(String(repeating: "Long", count: 40)))
  }

  /// A part of an identity, or of a time, is of no use.
  @Test func whatMattersIsNotCut() throws {
    let identity = "us-east-1:6a1f0000-1111-2222-3333-444455556666"
    let one = Self.session.replacing("us-east-1:1", with: identity)
    expect(
      try report(one, width: 80),
      equals: """
        credd 1.2, pid 7

        PROFILE  USER   STATE     EXPIRES    REFRESH    LAST CALLER  SIGNED IN BY
        work     alice  signedIn  in 42 min  in 12 min  app.service  oidc as al@x.com (…

        identity of work: \(identity)

        """)
    let wide = try report(one, width: 120)
    expect(wide.contains("\nwork     alice  signedIn  \(identity)  in 42 min"), "\(wide)")
    expect(try report(one, width: 160).contains("in 12 min, half of the lifetime"))
    // Of many users' sessions they would be as many lines again.
    let two = one + "," + one.replacing("alice", with: "bob")
    expect(!(try report(two, width: 80).contains(identity)))
    let idle = one.replacing(#""NextRefresh":"2026-01-01T00:12:00Z","#, with: "")
      .replacing("half of the lifetime", with: "when somebody asks, after a failure")
    expect(try report(idle, width: 80).contains("  when somebody asks  "))
  }

  @Test func showsErrorsBelowTheTableOnATerminal() throws {
    let failed = Self.session.replacing(
      "null",
      with: #"{"Code":"Timeout","Message":"no answer","At":"2025-12-31T23:57:00Z"},"Failures":2"#)
    expect(
      try report(failed, width: 80),
      equals: """
        credd 1.2, pid 7

        PROFILE  USER   STATE     IDENTITY     EXPIRES    REFRESH    SIGNED IN BY
        work     alice  signedIn  us-east-1:1  in 42 min  in 12 min  oidc as al@x.com (…

        work of alice: 3 min ago: Timeout: no answer

        """)
    expect(
      try report(failed, width: 80, hasColour: true)
        .contains("\n\u{1B}[31mwork of alice: 3 min ago: Timeout: no answer\u{1B}[0m\n"))
  }

  @Test func showsOneProfile() throws {
    let other = Self.session.replacing("work", with: "home")
    let reply = try JSONValue.parse(
      Array(
        #"{"Version":1,"Sessions":[\#(Self.session),\#(other)],"Daemon":{"Pid":7.50,"Up":[true,null]}}"#
          .utf8))
    let text = StatusReport(reply, profile: "home", now: Self.now)
      .rendered(on: TextTable.Display(width: nil, hasColour: false))
    expect(text.contains("\nhome ") && !text.contains("\nwork "))
    let line = StatusReport.line(reply, profile: "home")
    expect(line.last, equals: UInt8(ascii: "\n"))
    let filtered = try JSONValue.parse(line)
    guard case .array(let sessions) = filtered["Sessions"] else {
      Issue.record("no sessions")
      return
    }
    expect(sessions.map { $0["Profile"]?.text }, equals: ["home"])
    expect(
      String(decoding: line, as: UTF8.self).hasSuffix(
        #""Daemon":{"Pid":7.50,"Up":[true,null]}}"# + "\n"))
  }

  @Test func listsProfiles() throws {
    let display = TextTable.Display(width: nil, hasColour: false)
    let reply = #"""
      {"Version":1,"Profiles":[{"Profile":"default","SignIn":{"Means":["host","token"],"New":1}},
      {"Profile":"x"}]}
      """#
    expect(
      ProfileList.rendered(try JSONValue.parse(Array(reply.utf8)), on: display),
      equals: """
        PROFILE  SIGN-IN      SIGNED IN BY
        default  host, token  -
        x        -            -

        """)
    expect(
      ProfileList.rendered(try JSONValue.parse(Array(#"{"Profiles":[]}"#.utf8)), on: display),
      equals: "no profile is open to you\n")
  }

  @Test func hasColoursOnlyIfTheDisplayHas() throws {
    expect(try report(Self.session, hasColour: true).contains("\u{1B}[32msignedIn\u{1B}[0m"))
    expect(try !report(Self.session).contains("\u{1B}"))
  }

  @Test(arguments: [
    (0, "now"), (1, "in 1 s"), (119, "in 119 s"), (120, "in 2 min"), (2_559, "in 42 min"),
    (7_200, "in 2 h"), (172_800, "in 2 days"), (-300, "5 min ago"),
    (Int64.min, "106751991167300 days ago"),
  ])
  func writesTimesForPeople(_ seconds: Int64, _ phrase: String) {
    expect(RelativeTime.phrase(seconds), equals: phrase)
  }
}

struct EventLineTests {
  private func text(_ event: SessionEvent) throws -> String {
    let reply = RenderedReply.event(event, profile: "work")
    return try #require(
      EventLine.text(of: try JSONValue.parse(reply.bytes), now: WallTime(milliseconds: 0)))
  }

  @Test func leavesOutEventsThatItDoesNotKnow() throws {
    let event = try JSONValue.parse(
      Array(#"{"Version":1,"Event":"somethingNew","Handle":"x"}"#.utf8))
    expect(EventLine.text(of: event, now: hour) == nil)
  }

  private let hour = WallTime(milliseconds: 7_200_000)

  @Test func describesEachEvent() throws {
    let b = try IdentityID("us-east-1:b")
    expect(
      try text(.state(.signedOut, identityID: nil)), equals: "1970-01-01T00:00:00Z work: signedOut")
    expect(try text(.state(.guest, identityID: b)).hasSuffix("work: guest as us-east-1:b"))
    let alice = SignedIn(by: .oidc, username: "alice", subject: "00u1")
    expect(
      try text(.state(.signedIn, identityID: b, signedIn: alice))
        .hasSuffix("work: signedIn as us-east-1:b by oidc as alice (00u1)"))
    expect(
      try text(.identityChanged(previous: nil, current: b))
        .hasSuffix("work: identity changed from none to us-east-1:b"))
    expect(
      try text(.refreshed(identityID: b, expiration: hour, nextRefresh: nil))
        .hasSuffix("work: refreshed, expires in 2 h"))
    expect(
      try text(.degraded(ProtocolError(.timeout, "slow"), expiration: hour))
        .hasSuffix("work: degraded: Timeout: slow, expires in 2 h"))
    expect(
      try text(
        .challenge(
          SignInChallenge(.code(.sms, destination: "+***99"), name: "SMS_MFA"),
          remaining: .seconds(180))
      ).hasSuffix("work: the sign-in asks its user: code, SMS_MFA"))
  }
}
