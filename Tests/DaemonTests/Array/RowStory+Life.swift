import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

extension RowStory {
  /// Lives through the row.
  func run() throws {
    let people = try Beginning(self)
    let lived = try liveSubject()
    switch row.caller {
    case .named, .unnamed: try askAsSubject(lived)
    case .impersonated: try askAsActor(lived, bystandersKey: people.keys[0])
    case .renamed, .reused: try askAsSuccessor(lived)
    }
    for person in [cast.bystander, cast.outsider] { try expectNothingElse(for: person) }
    try expectOthersUntouched(people)
  }

  /// The sessions that the row is not about: the bystander's, and the subject's in the other profile.
  struct Beginning {
    let sessions: [(person: RowCast.Person, place: RowCast.Place)]
    let keys: [String?]

    init(_ story: RowStory) throws {
      let cast = story.cast
      sessions = [
        (cast.bystander, cast.first), (cast.bystander, cast.second), (cast.subject, cast.second),
      ]
      keys = try sessions.map { try story.begin($0.person, in: $0.place) }
      try story.expectAnswer(
        story.reading.answerByItself(to: cast.outsider, in: cast.first), for: cast.outsider,
        in: cast.first, "left out")
    }
  }

  /// What the subject's life in the first profile left.
  struct Lived {
    /// The access key of the last credentials.
    var key: String?
    /// What the subject must get now.
    var answer: RowExpectation.Answer
    /// Whether these must be the same credentials, without another call upstream.
    var isCached = false
    /// Whether a new sign-in may be needed: the profile has another pool.
    var mayTakeSignIn = false
    /// A request of the subject that upstream is answering.
    var underWay: Caller?
    /// A request of the subject that waits for a sign-in.
    var waiting: Caller?
  }

  // MARK: The subject's life

  private func liveSubject() throws -> Lived {
    let answer = reading.answerAfterLogin(to: cast.subject, in: cast.first)
    guard row.life != .cold else {
      // Nobody had the uid's session before its successor.
      if row.caller != .renamed && row.caller != .reused {
        try signIn(cast.subject, in: cast.first)
      }
      return Lived(answer: answer)
    }
    let key = try begin(cast.subject, in: cast.first)
    var lived = Lived(key: key, answer: answer, isCached: key != nil)
    switch row.life {
    case .cold, .warm: break
    case .refresh: if let key { try beginRefresh(&lived, key) }
    case .bad: if let key { try loseProof(&lived, key) }
    case .restored: try restart(by: cast.coins[3] ? SIGTERM : SIGKILL)
    case .reloaded: try reloadSubject(&lived)
    case .withdrawn:
      try reload(.withdrawn)
      lived.answer = .refused("AccessDenied")
      lived.isCached = false
    }
    return lived
  }

  private var exchange: String {
    reading.asksSTS ? "AssumeRoleWithWebIdentity" : "GetCredentialsForIdentity"
  }

  private func exchanges() throws -> Int {
    try host.sandbox.calls((reading.asksSTS ? "sts." : "cognito.") + exchange)
  }

  /// The subject asks for credentials that upstream is slow to give.
  private func beginRefresh(_ lived: inout Lived, _ key: String) throws {
    try ask(cast.subject, cast.first, #""op":"clear","what":"credentials""#)
    let service = reading.asksSTS ? "sts" : "cognito"
    try host.sandbox.plan(
      #"{"Service":"\#(service)","Operation":"\#(exchange)","Kind":"delay","Seconds":0.25}"#)
    let before = try exchanges()
    let first = try anotherClient(cast.subject)
    try first.socket.send(#"{"profile":"\#(cast.first.profile)","wait":30}"# + "\n")
    try Deadline.usual.wait(for: "the exchange") { try exchanges() > before }
    lived.underWay = first
    lived.isCached = false
  }

  /// The credentials are gone, and what the next ones would be given for is void.
  private func loseProof(_ lived: inout Lived, _ key: String) throws {
    try revoke(key)
    try ask(cast.subject, cast.first, #""op":"clear","what":"credentials""#)
    lived.isCached = false
    guard !reading.isProofRenewable else { return }
    let waiting = try anotherClient(cast.subject)
    // An ID token of a user pool would be taken until its end.
    let refresh = row.backend == .userPool ? #","refresh":true"# : ""
    try waiting.socket.send(
      #"{"profile":"\#(cast.first.profile)","wait":120\#(refresh)}"# + "\n")
    try Deadline.usual.wait(for: "the proof to be refused") {
      try ask(cast.subject, cast.first, #""op":"identity""#)["State"]?.text == "tokensInvalid"
    }
    lived.waiting = waiting
    lived.answer = .refused("SignInRequired")
  }

  private func reloadSubject(_ lived: inout Lived) throws {
    // The identity of linked logins has others in the other pool.
    let canSwap = row.login != .linked && row.flow != .tokens && lived.key != nil
    let change: RowConfiguration.Change =
      canSwap && cast.coins[4] ? .swapped : cast.coins[5] ? .unrelated : .added
    try reload(change)
    guard swapped else { return }
    lived.answer = reading.answerAfterLogin(to: cast.subject, in: first)
    lived.isCached = false
    lived.mayTakeSignIn = row.login != .none
  }

  /// What the subject's session gives now, over anybody's connection.
  ///
  /// - Parameter refusal: what the asker must get instead.
  private func expectSubjects(
    _ lived: Lived, for asker: RowCast.Person, as target: RowCast.Person? = nil,
    unless refusal: RowExpectation.Answer? = nil
  ) throws -> String? {
    guard lived.mayTakeSignIn, refusal == nil else {
      return try expectAnswer(
        refusal ?? lived.answer, for: asker, in: first, as: target, "\(row.life)")
    }
    let name = target.map { #","user":"\#($0.name)""# } ?? ""
    let reply = try host.answer { try ask(asker, first, #""wait":1\#(name)"#) }
    // What was given for the former pool may be of no use in this one: then the session begins anew.
    let anew = reading.answerByItself(to: cast.subject, in: first)
    if let key = reply["AccessKeyId"]?.text, case .granted(let grant) = anew,
      try given(key) == grant
    {
      return key
    }
    if let code = reply.errorCode {
      guard code != "SignInRequired", code != "TokenRejected", anew != .refused(code) else {
        return nil
      }
    }
    return try judge(reply, lived.answer, "\(row.life)")
  }

  // MARK: The caller's question

  private func askAsSubject(_ lived: Lived) throws {
    let calls = try host.sandbox.allCalls
    let key = try expectSubjects(lived, for: cast.subject)
    try compare(key, lived, calls)
    try finishWaiting(lived)
    if let key, !lived.mayTakeSignIn { try expectSameIdentity(key, lived.answer) }
    guard row.life == .bad, lived.waiting != nil else { return }
    // A sign-in mends it.
    try signIn(cast.subject, in: cast.first)
    let again = try expectAnswer(
      reading.answerAfterLogin(to: cast.subject, in: cast.first), for: cast.subject,
      in: cast.first, "signed in again")
    expect(again != lived.key)
  }

  private func askAsActor(_ lived: Lived, bystandersKey: String?) throws {
    let calls = try host.sandbox.allCalls
    let answer = reading.answerToActor(isEnoughSaid: configuration.isEnoughSaid)
    let key = try expectSubjects(lived, for: cast.actor, as: cast.subject, unless: answer)
    if answer == nil { try compare(key, lived, calls) }
    // Over the same connection: the other user's, one whom the rule leaves out, the first again.
    let others = reading.answerAfterLogin(to: cast.bystander, in: cast.first)
    if !swapped, row.life != .withdrawn {
      let other = try expectAnswer(
        answer ?? others, for: cast.actor, in: cast.first, as: cast.bystander, "beside it")
      if answer == nil { expect(other, equals: bystandersKey) }
    }
    try expectAnswer(
      .refused("AccessDenied"), for: cast.actor, in: cast.first, as: cast.outsider, "left out")
    let again = try expectSubjects(lived, for: cast.actor, as: cast.subject, unless: answer)
    expect(again, equals: key)
    try finishWaiting(lived)
  }

  /// The subject's uid belongs to another person now, who must get nothing of the subject's.
  private func askAsSuccessor(_ lived: Lived) throws {
    if row.caller == .reused {
      try restart(holder: .nobody)
      // A uid that lost its name is not another person's, nor the former one's.
      if row.life != .cold, !swapped {
        try expectAnswer(
          .refused("AccessDenied"), for: cast.subject, in: cast.first, "without a name")
      }
    }
    try restart(holder: .successor)
    if let waiting = lived.underWay ?? lived.waiting {
      // The daemon that it asked was ended.
      let reply = try waiting.socket.reply()
      if reply.errorCode != "ShuttingDown" { _ = try judge(reply, lived.answer, "under way") }
    }
    let isWithdrawn = row.life == .withdrawn
    let answer =
      isWithdrawn
      ? .refused("AccessDenied") : reading.answerByItself(to: cast.successor, in: first)
    let key = try expectAnswer(answer, for: cast.successor, in: first, "by itself")
    try expectApart(key, lived)
    guard row.login != .none else { return }
    try signIn(cast.successor, in: first)
    let own = try expectAnswer(
      isWithdrawn ? answer : reading.answerAfterLogin(to: cast.successor, in: first),
      for: cast.successor, in: first, "signed in")
    try expectApart(own, lived)
  }

  /// The identity that the caller is told is the credentials', and so is the developer token's.
  private func expectSameIdentity(_ key: String, _ answer: RowExpectation.Answer) throws {
    let told = try ask(cast.subject, cast.first, #""op":"identity""#)
    guard !reading.givesTokens(cast.first) else { return expect(told["IdentityId"] == nil) }
    let identity = try identity(of: key)
    expect(told["IdentityId"]?.text, equals: identity)
    guard case .granted(let grant) = answer,
      row.backend != .userPool,
      [.host, .password, .token].contains(reading.proofAfterLogin(cast.first))
    else { return }
    let reply = try ask(cast.subject, cast.first, #""op":"token","wait":30"#)
    let token = try #require(reply["Token"]?.text, "\(reply.keys.sorted())")
    expect(reply["IdentityId"]?.text, equals: identity)
    let given = try given(token: token)
    expect(given.identity, equals: identity)
    expect(given.pool, equals: grant.pool)
    // A developer token is given for the developer's user alone.
    expect(given.logins, equals: grant.logins.filter { $0.key != RowExpectation.publicProvider })
  }

  private func expectApart(_ key: String?, _ lived: Lived) throws {
    guard let key, let former = lived.key else { return }
    expect(key != former)
    guard !reading.givesTokens(cast.first), try given(key).logins.isEmpty else { return }
    expect(try identity(of: key) != identity(of: former), "a guest's identity was passed on")
  }

  private func compare(_ key: String?, _ lived: Lived, _ calls: Int) throws {
    if lived.isCached {
      expect(key, equals: lived.key)
      expect(try host.sandbox.allCalls, equals: calls)
    } else if key != nil {
      expect(key != lived.key)
    }
  }

  /// What the subject asked before must be answered as the caller was.
  private func finishWaiting(_ lived: Lived) throws {
    if let underWay = lived.underWay {
      _ = try judge(underWay.socket.reply(), lived.answer, "under way")
    }
    guard let waiting = lived.waiting else { return }
    try ask(cast.subject, cast.first, #""op":"release""#)
    _ = try judge(waiting.socket.reply(), .refused("SignInRequired"), "waiting")
  }

  /// One person's life is nobody else's, and nothing of one profile another's.
  private func expectOthersUntouched(_ beginning: Beginning) throws {
    guard !swapped else { return }
    for (session, key) in zip(beginning.sessions, beginning.keys) {
      let isPassedOn =
        session.person == cast.subject && (row.caller == .renamed || row.caller == .reused)
      let person = isPassedOn ? cast.successor : session.person
      let answer =
        isPassedOn
        ? reading.answerByItself(to: person, in: session.place)
        : reading.answerAfterLogin(to: person, in: session.place)
      let now = try expectAnswer(answer, for: person, in: session.place, "in the end")
      expect(isPassedOn ? now == nil || now != key : now == key, "of \(person.name)")
    }
  }
}
