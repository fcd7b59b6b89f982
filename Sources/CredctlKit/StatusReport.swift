public import CredCore

/// The reply to `status` for people.
public struct StatusReport: Sendable {
  private let sessions: [JSONValue]
  private let daemon: DaemonLine
  /// How to reach the host's credd, where the user's own answered.
  private let hidden: String?
  private let now: WallTime
  /// AWS's clock minus this host's, if they differ. AWS sets the expiration of credentials by AWS's
  /// clock.
  private let skew: Int64
  /// What is said where there are no sessions.
  private let none: String

  /// - Parameters:
  ///   - reply: a reply that was checked against ``ReplyShape/status``.
  ///   - profile: the only profile to show; nil for all.
  ///   - hidden: see ``SocketPath/hiddenSystem(exists:)``.
  ///   - isRootsAlone: whether only root's own sessions were asked for, who may see all.
  public init(
    _ reply: JSONValue, profile: String? = nil, hidden: String? = nil, isRootsAlone: Bool = false,
    now: WallTime
  ) {
    self.hidden = hidden
    none = isRootsAlone ? "no sessions of root; --all shows every user's" : "no sessions"
    self.sessions = Self.sessions(of: reply, in: profile)
    self.daemon = DaemonLine(reply["Daemon"])
    self.now = now
    skew = reply["Daemon"]?["ClockSkew"]?.integer ?? 0
  }

  private static func sessions(of reply: JSONValue, in profile: String?) -> [JSONValue] {
    guard case .array(let sessions) = reply["Sessions"] else { return [] }
    return sessions.filter { profile == nil || $0["Profile"]?.text == profile }
  }

  /// The reply with only the sessions of one profile, as a line of JSON.
  public static func line(_ reply: JSONValue, profile: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if case .object(let members) = reply {
      for member in members {
        writer.key(member.key)
        writer.value(
          member.key == "Sessions" ? .array(sessions(of: reply, in: profile)) : member.value)
      }
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// A hint for root, who may see other users' sessions too; nil if nothing is missing.
  public static func hint(uid: UInt32, showsAll: Bool) -> String? {
    uid == 0 && !showsAll ? "these are root's own sessions; --all shows every user's" : nil
  }

  public var isEmpty: Bool { sessions.isEmpty }

  /// The daemon in one line, then the sessions.
  ///
  /// On a terminal, no line is wider than the terminal, and errors follow the table. When output is
  /// not a terminal, each session is one line with all its fields.
  public func rendered(on display: TextTable.Display) -> String {
    let head =
      ([daemon.text] + [daemon.listeners, hidden].compactMap(\.self)
      + daemon.troubles + replicas)
      .flatMap { WrappedText.lines($0, width: display.width) }.map { $0 + "\n" }.joined()
    guard !sessions.isEmpty else { return head + none + "\n" }
    let isTerminal = display.width != nil
    let header = ["PROFILE", "USER", "STATE", "IDENTITY", "EXPIRES", "REFRESH", "LAST CALLER"]
    // Scripts count columns: a new one stands behind all older ones. Where no session is derived there is
    // no such column.
    let hasDerived = sessions.contains { DerivedText.words($0) != nil }
    let last =
      (isTerminal ? [] : ["LAST ERROR"]) + ["SIGNED IN BY"]
      + (hasDerived ? [DerivedText.header] : [])
    // An identity is of no use without its end, nor a time.
    let leastOfRefresh = sessions.map { time(of: refresh($0)).count }.max() ?? 0
    var table = TextTable(
      header: header + last,
      shrinking: [(6, 11), (5, leastOfRefresh)] + (hasDerived ? [(8, 12)] : []) + [(7, 12)]
        + [(0, 8), (1, 8)],
      optional: [6, Self.identityColumn, 5, 7] + (hasDerived ? [8] : []) + [1])
    for session in sessions {
      table.append(
        cells(of: session) + (isTerminal ? [] : [TextTable.Cell(error(session))])
          + [TextTable.Cell(SignedInText.words(session))]
          + (hasDerived ? [TextTable.Cell(DerivedText.words(session))] : []))
    }
    return head + "\n" + table.rendered(on: display)
      + (table.shows(Self.identityColumn, on: display) ? "" : identities(on: display))
      + (isTerminal ? sessions.map { problem($0, on: display) }.joined() : "")
  }

  private static let identityColumn = 3

  /// The identities of one user's sessions, where the table has no room for them. Of several users they would
  /// be as many lines as the table has.
  private func identities(on display: TextTable.Display) -> String {
    guard Set(sessions.map(user)).count == 1 else { return "" }
    let lines = sessions.flatMap { session in
      guard let identity = session["IdentityId"]?.text else { return [String]() }
      let text = PlainText.oneLine("identity of \(session["Profile"]?.text ?? "-"): \(identity)")
      return WrappedText.lines(text, width: display.width)
    }
    return lines.isEmpty ? "" : "\n" + lines.map { $0 + "\n" }.joined()
  }

  /// A line for each region with a replica that serves sessions.
  private var replicas: [String] {
    let byRegion = Dictionary(grouping: sessions) { $0["Region"]?.text }
    return byRegion.compactMap { region, sessions in
      region.map { region in
        let profiles = Set(sessions.compactMap { $0["Profile"]?.text }).sorted()
        return "the user pool of \(profiles.joined(separator: ", ")) is served by its replica in "
          + "\(region): its primary region cannot be reached"
      }
    }.sorted().map(PlainText.oneLine)
  }

  private func cells(of session: JSONValue) -> [TextTable.Cell] {
    let state = session["State"]?.text
    return [
      TextTable.Cell(session["Profile"]?.text),
      TextTable.Cell(user(session)),
      TextTable.Cell(state, colour: Self.colour(ofState: state)),
      TextTable.Cell(session["IdentityId"]?.text),
      expiration(session["Expiration"]),
      TextTable.Cell(refresh(session), short: time(of: refresh(session))),
      TextTable.Cell(caller(session["LastCaller"])),
    ]
  }

  private func user(_ session: JSONValue) -> String? {
    session["User"]?.text ?? session["Uid"]?.integer.map { "\($0)" }
  }

  /// The last error since the last success, with its time.
  private func error(_ session: JSONValue) -> String? {
    guard let error = session["LastError"], let code = error["Code"]?.text else { return nil }
    var text = code
    if let message = error["Message"]?.text { text += ": \(message)" }
    if let seconds = secondsAhead(error["At"]) {
      text = "\(RelativeTime.phrase(min(0, seconds))): \(text)"
    }
    return text
  }

  /// The error of a session in separate lines; empty without an error.
  private func problem(_ session: JSONValue, on display: TextTable.Display) -> String {
    guard let error = error(session) else { return "" }
    let profile = session["Profile"]?.text ?? "-"
    let text = PlainText.oneLine("\(profile) of \(user(session) ?? "-"): \(error)")
    // After a new or abandoned sign-in, the failure is over.
    let isPresent = session["Failures"]?.integer ?? 0 > 0
    let lines = WrappedText.lines(text, width: display.width).map { line in
      display.hasColour && isPresent ? TextTable.Colour.red.painted(line) : line
    }
    return "\n" + lines.map { $0 + "\n" }.joined()
  }

  private func expiration(_ value: JSONValue?) -> TextTable.Cell {
    guard let seconds = secondsAhead(value).map({ $0 - skew }) else {
      return TextTable.Cell(value?.text)
    }
    guard seconds > 0 else { return TextTable.Cell("expired", colour: .red) }
    // The AWS CLI asks again at each call when less than 15 minutes are left.
    return TextTable.Cell(RelativeTime.phrase(seconds), colour: seconds < 900 ? .yellow : nil)
  }

  /// The time of the next refresh and its reason, or why there is none.
  private func refresh(_ session: JSONValue) -> String {
    let time = session["NextRefresh"]
    let when = secondsAhead(time).map { RelativeTime.phrase(max(0, $0)) } ?? time?.text
    return [when, session["NextRefreshReason"]?.text].compactMap(\.self).joined(separator: ", ")
  }

  /// `in 12 min` or `when somebody asks`, without the reason.
  private func time(of refresh: String) -> String {
    String(refresh.prefix { $0 != "," && $0 != ":" })
  }

  private func caller(_ caller: JSONValue?) -> String? {
    caller?["Unit"]?.text ?? caller?["Pid"]?.integer.map { "pid \($0)" }
  }

  private func secondsAhead(_ value: JSONValue?) -> Int64? {
    guard let text = value?.text, let time = WallTime(iso8601: text) else { return nil }
    return (time.milliseconds - now.milliseconds) / 1000
  }

  private static func colour(ofState state: String?) -> TextTable.Colour? {
    switch state {
    case "signedIn", "guest": .green
    case "tokensInvalid": .yellow
    default: nil
    }
  }
}

/// The reply to `status` with `profiles`, for people.
public enum ProfileList {
  /// A table of the profiles, the means of signing in, and who is signed in. If some profiles are
  /// derived, the table says from which profile, and how they are narrowed.
  ///
  /// - Parameter reply: checked against ``ReplyShape/profiles``.
  public static func rendered(_ reply: JSONValue, on display: TextTable.Display) -> String {
    guard case .array(let profiles) = reply["Profiles"], !profiles.isEmpty else {
      return "no profile is open to you\n"
    }
    let hasDerived = profiles.contains { DerivedText.words($0) != nil }
    var table = TextTable(
      header: ["PROFILE", "SIGN-IN", "SIGNED IN BY"] + (hasDerived ? [DerivedText.header] : []),
      shrinking: (hasDerived ? [(3, 12)] : []) + [(2, 12), (1, 7), (0, 8)],
      optional: [2] + (hasDerived ? [3] : []))
    for profile in profiles {
      let name = profile["Profile"]?.text
      table.append(
        [
          TextTable.Cell(name), TextTable.Cell(means(profile["SignIn"])),
          TextTable.Cell(session(of: name, in: reply).flatMap(SignedInText.words)),
        ] + (hasDerived ? [TextTable.Cell(DerivedText.words(profile))] : []))
    }
    return table.rendered(on: display)
  }

  /// The profiles' names.
  ///
  /// - Parameters:
  ///   - reply: checked against ``ReplyShape/profiles``.
  ///   - withCredentials: whether to leave out those for derived profiles alone.
  public static func names(_ reply: JSONValue, withCredentials: Bool = false) -> [String] {
    guard case .array(let profiles) = reply["Profiles"] else { return [] }
    return profiles.filter { !withCredentials || $0["Credentials"] != .bool(false) }
      .compactMap { $0["Profile"]?.text }
  }

  /// The actions on accounts that a profile offers; nil for a profile that is not in the list, and where the
  /// daemon does not say it.
  public static func offers(_ reply: JSONValue, _ name: String) -> [String]? {
    guard case .array(let profiles) = reply["Profiles"],
      let profile = profiles.first(where: { $0["Profile"]?.text == name }),
      case .array(let actions) = profile["AccountActions"]
    else { return nil }
    return actions.compactMap(\.text)
  }

  /// The caller's session in a profile: without `all` a reply has no others.
  private static func session(of profile: String?, in reply: JSONValue) -> JSONValue? {
    guard case .array(let sessions) = reply["Sessions"] else { return nil }
    return sessions.first { $0["Profile"]?.text == profile }
  }

  private static func means(_ signIn: JSONValue?) -> String? {
    guard case .array(let means) = signIn?["Means"] else { return nil }
    return means.compactMap(\.text).joined(separator: ", ")
  }
}

extension JSONWriter {
  /// Writes a value that was read. Numbers keep their spelling.
  mutating func value(_ value: JSONValue) {
    switch value {
    case .null: raw(Array("null".utf8))
    case .bool(let flag): bool(flag)
    case .number(let digits): raw(Array(digits.utf8))
    case .string(let text): string(text)
    case .array(let elements):
      beginArray()
      for element in elements { self.value(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        key(member.key)
        self.value(member.value)
      }
      endObject()
    }
  }
}

/// The `Daemon` object of a reply in one line, with a further line for each problem that a person
/// should solve.
public struct DaemonLine: Sendable {
  public let text: String
  /// Where the daemon listens; nil if an older daemon does not say it.
  public let listeners: String?
  /// The problems. Empty if there are none, or if the caller is no administrator.
  public let troubles: [String]

  /// Makes `credd 1.0, pid 42, up 3 h` from the members that are present.
  public init(_ daemon: JSONValue?) {
    var text = "credd"
    if let version = daemon?["Version"]?.text { text += " \(version)" }
    if let pid = daemon?["Pid"]?.integer { text += ", pid \(pid)" }
    if let uptime = daemon?["Uptime"]?.integer, uptime >= 0 {
      text += ", up \(RelativeTime.span(uptime.magnitude))"
    }
    self.text = PlainText.oneLine(text)
    listeners = Self.listeners(daemon)
    var troubles: [String] = []
    if let problem = daemon?["ReloadError"]?.text {
      troubles.append("the configuration was not reloaded: \(problem)")
    }
    if let advice = daemon?["ReloadNeeded"]?.text { troubles.append(advice) }
    if case .array(let listeners) = daemon?["Listeners"] {
      for listener in listeners {
        guard let problem = listener["Problem"]?.text else { continue }
        troubles.append("the socket \(listener["Address"]?.text ?? "-"): \(problem)")
      }
    }
    if let problem = daemon?["StateDirectory"]?.text {
      troubles.append("identities are in memory alone: \(problem)")
    }
    if let skew = daemon?["ClockSkew"]?.integer, skew != 0 {
      let direction = skew > 0 ? "slow" : "fast"
      troubles.append(
        "this host's clock is \(RelativeTime.span(skew.magnitude)) \(direction): set it")
    }
    self.troubles = troubles.map(PlainText.oneLine)
  }

  /// `listens on /run/credd/credd.sock, 127.0.0.1:337 (endpoint)`.
  private static func listeners(_ daemon: JSONValue?) -> String? {
    guard case .array(let listeners) = daemon?["Listeners"] else { return nil }
    let addresses = listeners.compactMap { listener -> String? in
      guard let address = listener["Address"]?.text else { return nil }
      let kind = listener["Kind"]?.text ?? "socket"
      return kind == "socket" ? address : "\(address) (\(kind))"
    }
    guard !addresses.isEmpty else { return nil }
    return PlainText.oneLine("listens on \(addresses.joined(separator: ", "))")
  }
}

/// A line of `watch` for people.
public enum EventLine {
  /// `2026-01-01T00:00:00Z work: refreshed, expires in 60 min`.
  ///
  /// - Parameter event: an event that was checked against ``ReplyShape/event``.
  /// - Returns: nil for an event that this version does not know. `--json` still prints such an
  ///   event.
  public static func text(of event: JSONValue, now: WallTime) -> String? {
    guard let what = what(event) else { return nil }
    let profile = event["Profile"]?.text ?? "-"
    let text =
      "\(now.iso8601) \(profile): \(([what] + times(event, now)).joined(separator: ", "))"
    return PlainText.oneLine(text)
  }

  private static func what(_ event: JSONValue) -> String? {
    let identity = event["IdentityId"]?.text
    switch event["Event"]?.text {
    case "state":
      let state = [event["State"]?.text ?? "state", identity].compactMap { $0 }
      let who = SignedInText.words(event).map { " by \($0)" } ?? ""
      return state.joined(separator: " as ") + who
    case "identityChanged":
      let previous = event["PreviousIdentityId"]?.text ?? "none"
      return "identity changed from \(previous) to \(identity ?? "none")"
    case "degraded":
      let error = event["Error"]
      let code = error?["Code"]?.text ?? "unknown error"
      return "degraded: "
        + [code, error?["Message"]?.text].compactMap { $0 }.joined(separator: ": ")
    case "challenge":
      let names = [event["Step"]?.text, event["Name"]?.text].compactMap { $0 }
      return "the sign-in asks its user: " + names.joined(separator: ", ")
    case "refreshed":
      return "refreshed"
    default:
      return nil
    }
  }

  private static func times(_ event: JSONValue, _ now: WallTime) -> [String] {
    [("Expiration", "expires"), ("NextRefresh", "next refresh")].compactMap { key, words in
      guard let text = event[key]?.text, let time = WallTime(iso8601: text) else { return nil }
      return "\(words) \(RelativeTime.phrase((time.milliseconds - now.milliseconds) / 1000))"
    }
  }
}

/// Lengths of time in the largest unit that keeps two digits.
public enum RelativeTime {
  /// `in 42 min`, `now`, `5 min ago`.
  ///
  /// - Parameter seconds: from now; negative for the past.
  public static func phrase(_ seconds: Int64) -> String {
    let length = span(seconds.magnitude)
    return seconds == 0 ? "now" : seconds > 0 ? "in \(length)" : "\(length) ago"
  }

  /// `42 min`, rounded down, because credentials must not seem to last longer than they do.
  public static func span(_ seconds: UInt64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
