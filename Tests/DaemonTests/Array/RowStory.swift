import Foundation
import Glibc
import SeededRandom
import TestSupport
import Testing

@testable import DaemonHarness

/// One row, lived through: two people in two profiles, the subject's session brought to its place in
/// life, the caller's question. Every answer is held against what the sandbox says it gave to whom.
final class RowStory {
  let row: ArrayRow
  let cast: RowCast
  let reading: RowExpectation
  let configuration: RowConfiguration
  let host: TestHost
  private let users: String
  private let unit: ControlGroup?
  private let strangeProgram: String
  private var callers: [String: [Caller.Identity: Caller]] = [:]
  /// The names of the user pool's users, by what it calls them.
  private(set) var poolUsers: [String: String] = [:]
  /// Tokens of the public provider that the subject brought to the first profile.
  private var socialTokens: [String] = []

  init(_ row: ArrayRow, _ random: inout SeededGenerator) throws {
    let stage = try Stage.current()
    self.row = row
    cast = RowCast(&random)
    reading = RowExpectation(row: row, cast: cast)
    let script = stage.newFile("token")
    let credentials = stage.newFile("credentials")
    try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: true)
    try Data("a-secret-of-the-service".utf8).write(to: URL(filePath: credentials + "/other"))
    try Data(Self.tokenScript(credentials).utf8).write(to: URL(filePath: script))
    let policy = stage.newFile("policy")
    try Data(RowConfiguration.policy.utf8).write(to: URL(filePath: policy))
    let keys = stage.newFile("keys")
    try Data(Self.developerKeys.utf8).write(to: URL(filePath: keys))
    let isCopyNeeded = row.access == .executables
    strangeProgram = "/bin/cat"
    configuration = RowConfiguration(
      row: row, cast: cast, reading: reading,
      program: isCopyNeeded ? try stage.executable("/bin/cat") : "/bin/cat",
      script: row.backend == .exec ? try stage.executable(script) : script, keys: keys,
      policy: policy,
      isEnoughSaid: [.bad, .reloaded].contains(row.life) || cast.coins[0],
      cappedPath: try TestHost.newSocketPath())
    unit = row.access == .units ? try ControlGroup(cast.unit) : nil
    let (seed, groups) = (stage.newFile("seed"), stage.newFile("group"))
    users = stage.newFile("passwd")
    try Data(configuration.seed.utf8).write(to: URL(filePath: seed))
    try Data(configuration.groups.utf8).write(to: URL(filePath: groups))
    try Data(configuration.users(.subject).utf8).write(to: URL(filePath: users))
    let configuration = configuration
    host = try TestHost(
      sandbox: ["--config", seed], environment: ["CREDENTIALS_DIRECTORY": credentials],
      under: [
        try #require(Programs.installed("unshare")), "-m", "/bin/sh", "-c",
        "mount --bind \(users) /etc/passwd && mount --bind \(groups) /etc/group && exec \"$0\" \"$@\"",
      ], managed: true,
      passed: [ServiceManager.Passed(name: "capped", path: configuration.cappedPath)]
    ) { configuration.text($0.url) }
    for path in [host.socketPath, configuration.cappedPath] { unsafe chmod(path, 0o666) }
    // Cognito's policy for guests names no action of STS.
    try host.sandbox.control("POST", "sts", #"{"ScopedCredentialsPermission":false}"#)
  }

  // MARK: Callers

  /// A client as the access rule wants it, or one that the rule leaves out.
  private func identity(of person: RowCast.Person) -> Caller.Identity {
    var identity = Caller.Identity(uid: person.uid, groups: [person.uid], unit: unit)
    identity.program = configuration.program
    if row.access == .groups { identity.groups.append(cast.group.gid) }
    guard person == cast.outsider else { return identity }
    return Caller.Identity(uid: person.uid, groups: [person.uid], program: strangeProgram)
  }

  /// The person's connection, which stays open while the daemon lives.
  func client(_ person: RowCast.Person, at path: String) throws -> Caller {
    let identity = identity(of: person)
    if let caller = callers[path]?[identity] { return caller }
    let caller = try Caller(identity, to: path)
    callers[path, default: [:]][identity] = caller
    return caller
  }

  /// Another connection of the same person, for a `get` in the first profile.
  func anotherClient(_ person: RowCast.Person) throws -> Caller {
    try Caller(
      identity(of: person), to: row.door == .capped ? configuration.cappedPath : host.socketPath)
  }

  /// The socket of a question: what one with a cap has goes over it.
  private func path(_ place: RowCast.Place, _ members: String) -> String {
    let isThere =
      !members.contains(#""op":"#) || members.contains(#""op":"identity""#)
      || members.contains(#""op":"token""#)
    return row.door == .capped && place.profile == cast.first.profile && isThere
      ? configuration.cappedPath : host.socketPath
  }

  // MARK: Questions

  @discardableResult
  func ask(
    _ person: RowCast.Person, _ place: RowCast.Place, _ members: String
  ) throws -> JSON {
    try client(person, at: path(place, members)).ask(
      #"{"profile":"\#(place.profile)",\#(members)}"#)
  }

  /// Nothing of the rest is there over the socket with a cap: no other profile, no other operation.
  func expectNothingElse(for person: RowCast.Person) throws {
    let capped = try client(person, at: configuration.cappedPath)
    let (there, nowhere) = (cast.second.profile, "nowhere")
    let replies = try [there, nowhere].map { try capped.ask(#"{"profile":"\#($0)"}"#) }
    expect(replies.map(\.errorCode), equals: ["AccessDenied", "AccessDenied"])
    expect(
      replies[0].errorMessage?.replacing(there, with: nowhere), equals: replies[1].errorMessage)
    let first = cast.first.profile
    for line in [
      #"{"op":"status"}"#, #"{"op":"watch"}"#,
      #"{"op":"clear","profile":"\#(first)","what":"identity"}"#,
      #"{"profile":"\#(first)","user":"\#(cast.bystander.name)"}"#,
    ] { expect(try capped.ask(line).errorCode, equals: "AccessDenied", "\(line)") }
  }

  /// Asks for credentials and checks that the answer is the expected one.
  ///
  /// - Parameter target: the user in whose name the person asks.
  /// - Returns: the credentials' access key; nil where they were refused.
  @discardableResult
  func expectAnswer(
    _ expected: RowExpectation.Answer, for person: RowCast.Person, in place: RowCast.Place,
    as target: RowCast.Person? = nil, _ moment: String
  ) throws -> String? {
    let name = target.map { #","user":"\#($0.name)""# } ?? ""
    // Nobody will sign in: an answer that takes a sign-in is due at once.
    let wait = expected == .refused("SignInRequired") ? 0 : 30
    if target == nil, reading.givesTokens(place) {
      return try expectToken(
        expected, for: person, in: place, wait: wait, "\(moment): \(person.name)")
    }
    let asked =
      "\(moment): \(person.name)\(target.map { " for \($0.name)" } ?? "") in \(place.profile)"
    let key = try judge(ask(person, place, #""wait":\#(wait)\#(name)"#), expected, asked)
    if place.profile == cast.first.profile, !reading.givesTokens(place) {
      try expectLess(for: person, as: target, wide: key, wait: wait, asked)
    }
    return key
  }

  func judge(
    _ reply: JSON, _ expected: RowExpectation.Answer, _ moment: String
  ) throws -> String? {
    switch expected {
    case .refused(let code):
      expect(reply.errorCode, equals: code, "\(moment): \(reply.shown)")
      expect(reply["AccessKeyId"] == nil, "\(moment)")
      return nil
    case .granted(let grant):
      let key = try #require(
        reply["AccessKeyId"]?.text, "\(moment): \(reply.shown), not \(grant)")
      expect(try given(key), equals: grant, "\(moment)")
      // Its two secrets are the ones that came with it.
      _ = try host.sandbox.issued(reply)
      _ = reply.secrets()
      return key
    }
  }

  /// What the sandbox says of an access key.
  func given(_ key: String) throws -> RowExpectation.Grant {
    let entry = try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")
    var logins = entry.logins
    if let subjects = logins[cast.userPool.provider] {
      logins[cast.userPool.provider] = subjects.map { poolUsers[$0] ?? $0 }
    }
    return RowExpectation.Grant(
      pool: entry["Pool"]?.text ?? "", role: entry["RoleArn"]?.text ?? "", logins: logins,
      sessionName: entry["RoleSessionName"]?.text)
  }

  /// What it says of a developer token.
  func given(
    token: String
  ) throws -> (pool: String?, identity: String?, logins: [String: [String]]) {
    let entry = try host.sandbox.control("GET", "issued?Token=\(token)")
    return (entry["Pool"]?.text, entry["IdentityId"]?.text, entry.logins)
  }

  /// Nil without an identity pool.
  func identity(of key: String) throws -> String? {
    let identity = try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")["IdentityId"]?.text
    return identity?.isEmpty ?? true ? nil : identity
  }

  // MARK: Sign-in

  /// Does the row's login, which must go as expected.
  func signIn(_ person: RowCast.Person, in place: RowCast.Place) throws {
    guard row.login != .none else { return }
    let isAdmitted = reading.isAdmitted(person, to: place) && !isWithdrawn(person, place)
    // In a profile that wants a password, linking comes after it.
    if row.login == .linked, !reading.isHostTrusted {
      try logIn(person, place, try password(person, place), isAdmitted ? nil : "AccessDenied")
    } else if row.login == .linked, cast.coins[1], isAdmitted {
      try expectAnswer(
        reading.answerByItself(to: person, in: place), for: person, in: place, "unlinked")
    }
    let isRefused = reading.isLoginRefused(in: place)
    let refusal = !isAdmitted ? "AccessDenied" : isRefused ? "InvalidRequest" : nil
    try logIn(person, place, try members(person, place), refusal)
  }

  /// The subject's right to the first profile has ended.
  private var withdrawn = false
  /// The two profiles have each other's pools.
  private(set) var swapped = false

  /// The row's profile as it is configured now.
  var first: RowCast.Place {
    swapped ? RowCast.Place(profile: cast.first.profile, withPoolOf: cast.second) : cast.first
  }

  private func isWithdrawn(_ person: RowCast.Person, _ place: RowCast.Place) -> Bool {
    withdrawn && place.profile == cast.first.profile && person != cast.bystander
  }

  private func logIn(
    _ person: RowCast.Person, _ place: RowCast.Place, _ members: String, _ refusal: String?
  ) throws {
    let reply = try ask(person, place, #""op":"login",\#(members)"#)
    expect(reply.errorCode, equals: refusal, "login of \(person.name): \(reply.shown)")
    if refusal == nil { expect(reply["State"]?.text, equals: "signedIn", "\(reply.shown)") }
  }

  private func members(_ person: RowCast.Person, _ place: RowCast.Place) throws -> String {
    switch row.login {
    case .none: return ""
    case .password: return try password(person, place)
    case .token:
      let body =
        #"{"IdentityPoolId":"\#(place.pool)","DeveloperProviderName":"\#(place.provider)","#
        + #""DeveloperUserIdentifier":"\#(reading.tokenUser(person, place))"}"#
      let answer = try host.sandbox.call("POST", "/token", body)
      let reply = try JSON(String(answer.split(separator: "\r\n\r\n").last ?? ""))
      let identity = try #require(reply["IdentityId"]?.text, "\(answer)")
      return #""identity_id":"\#(identity)","token":"\#(reply["Token"]?.text ?? "")""#
    case .logins, .linked:
      let token = try host.sandbox.token(
        of: RowExpectation.publicProvider, reading.socialName(person, place),
        #","Pool":"\#(place.pool)""#)
      if person.uid == cast.subject.uid, place.profile == cast.first.profile {
        socialTokens.append(token)
      }
      // Where the host is trusted, a login is linked unless it says that it stands alone.
      let isAlone = row.login == .logins && (reading.isHostTrusted || cast.coins[2])
      return #""logins":{"\#(RowExpectation.publicProvider)":"\#(token)"}"#
        + (isAlone ? #","alone":true"# : "")
    }
  }

  private func password(_ person: RowCast.Person, _ place: RowCast.Place) throws -> String {
    let name = reading.username(person, place)
    if row.backend == .userPool { return try passwordAtPool(name) }
    try Stage.current().note(secret: "\(name)-password", isPhrase: true)
    return #""username":"\#(name)","password":"\#(name)-password""#
  }

  /// Everybody has an account of their own in the user pool, one for each profile.
  private func passwordAtPool(_ name: String) throws -> String {
    let password = "\(name)-Passw0rd"
    try Stage.current().note(secret: password, isPhrase: true)
    if !poolUsers.values.contains(name) {
      let user = try host.sandbox.control(
        "POST", "user-pool/user",
        #"{"Username":"\#(name)","Password":"\#(password)","Status":"CONFIRMED"}"#)
      poolUsers[try #require(user["Sub"]?.text, "\(user)")] = name
    }
    return #""username":"\#(name)","password":"\#(password)""#
  }

  /// Signs in and asks, for the first time.
  @discardableResult
  func begin(_ person: RowCast.Person, in place: RowCast.Place) throws -> String? {
    try signIn(person, in: place)
    return try expectAnswer(
      reading.answerAfterLogin(to: person, in: place), for: person, in: place, "at first")
  }

  // MARK: The daemon

  /// Starts another daemon, which gets what this one leaves.
  func restart(by signal: Int32 = SIGTERM, holder: RowConfiguration.Holder? = nil) throws {
    callers = [:]
    try host.restart(by: signal) {
      if let holder {
        try Data(configuration.users(holder).utf8).write(to: URL(filePath: users))
      }
    }
  }

  /// Makes the daemon read a changed configuration.
  func reload(_ change: RowConfiguration.Change) throws {
    let said = "configuration loaded"
    func count() -> Int { host.log.split(separator: "\n").count { $0.contains(said) } }
    try host.configure { configuration.text($0.url, change) }
    let before = count()
    host.daemon.send(SIGHUP)
    try Deadline.usual.wait(for: said) { count() > before }
    withdrawn = change == .withdrawn
    swapped = change == .swapped
  }

  /// Voids everything that proves the subject in the first profile.
  func revoke(_ key: String) throws {
    func revoke(_ member: String, _ value: String) throws {
      try host.sandbox.control("POST", "revoke", #"{"\#(member)":"\#(value)"}"#)
    }
    if let identity = try identity(of: key) { try revoke("IdentityId", identity) }
    for user in [
      reading.developerUser(cast.subject), reading.username(cast.subject, cast.first),
      reading.tokenUser(cast.subject, cast.first),
    ] { try revoke("User", user) }
    let name = reading.username(cast.subject, cast.first)
    if row.backend == .userPool, poolUsers.values.contains(name) {
      try host.sandbox.control(
        "POST", "user-pool/user", #"{"Username":"\#(name)","SignOut":true}"#)
    }
    // A login that a backend links is sent to it again.
    if row.login == .logins { for token in socialTokens { try revoke("Token", token) } }
  }

  // MARK: Files

  private static let developerKeys = """
    [default]
    aws_access_key_id = AKIASANDBOXDEVELOPER
    aws_secret_access_key = sandbox-developer-secret

    """

  /// Passes the question on to the sandbox's own backend; but a command that was given more than
  /// SECURITY.md says does nothing.
  private static func tokenScript(_ credentials: String) -> String {
    #"""
    #!/bin/bash
    while read -r name value rest; do
      case $name in
        NoNewPrivs:) [[ $value == 1 ]] ;;
        CapAmb:) [[ $value == 0000000000000000 ]] ;;
      esac || exit 78
    done </proc/self/status
    if \#(Landlock.version >= 2) && cat \#(credentials)/other; then exit 78; fi 2>/dev/null
    [[ -z $CREDENTIALS_DIRECTORY ]] || exit 78
    read -r query
    exec 3<>/dev/tcp/127.0.0.1/$1
    printf 'POST /token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
      "${#query}" "$query" >&3
    sed '1,/^\r$/d' <&3

    """#
  }
}

extension JSON {
  /// An entry's logins: provider → subjects.
  fileprivate var logins: [String: [String]] {
    guard case .object(let providers) = self["Logins"] else { return [:] }
    return providers.mapValues { subjects in
      guard case .array(let texts) = subjects else { return [] }
      return texts.compactMap(\.text)
    }
  }

  /// A reply as a test may show it: without what is secret.
  fileprivate var shown: String {
    errorCode.map { "\($0): \(errorMessage ?? "")" } ?? "\(keys.sorted())"
  }
}
