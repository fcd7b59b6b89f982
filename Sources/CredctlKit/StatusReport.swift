public import CredCore

/// The reply to `status` for people.
public struct StatusReport: Sendable {
  private let sessions: [JSONValue]
  private let daemon: DaemonLine
  private let now: WallTime

  /// - Parameter reply: checked against ``ReplyShape/status``.
  public init(_ reply: JSONValue, now: WallTime) {
    if case .array(let sessions) = reply["Sessions"] {
      self.sessions = sessions
    } else {
      self.sessions = []
    }
    self.daemon = DaemonLine(reply["Daemon"])
    self.now = now
  }

  /// The daemon in one line, then the sessions.
  public func rendered(on display: TextTable.Display) -> String {
    let head = ([daemon.text] + daemon.troubles).map { $0 + "\n" }.joined()
    guard !sessions.isEmpty else { return head + "no sessions\n" }
    var table = TextTable(
      header: [
        "PROFILE", "USER", "STATE", "IDENTITY", "EXPIRES", "REFRESH", "LAST CALLER", "LAST ERROR",
      ],
      shrinking: [(7, 32), (5, 9), (3, 16), (6, 12), (7, 10), (0, 8), (1, 8)])
    for session in sessions { table.append(cells(of: session)) }
    return head + "\n" + table.rendered(on: display)
  }

  private func cells(of session: JSONValue) -> [TextTable.Cell] {
    let state = session["State"]?.text
    return [
      TextTable.Cell(session["Profile"]?.text),
      TextTable.Cell(session["User"]?.text ?? session["Uid"]?.integer.map { "\($0)" }),
      TextTable.Cell(state, colour: Self.colour(ofState: state)),
      TextTable.Cell(session["IdentityId"]?.text),
      expiration(session["Expiration"]),
      TextTable.Cell(refresh(session)),
      TextTable.Cell(caller(session["LastCaller"])),
      error(session["LastError"], failures: session["Failures"]?.integer ?? 0),
    ]
  }

  /// The last error stays visible after a success. Only a present failure has a colour.
  private func error(_ error: JSONValue?, failures: Int64) -> TextTable.Cell {
    guard let error, let code = error["Code"]?.text else { return TextTable.Cell(nil) }
    var text = code
    if let message = error["Message"]?.text { text += ": \(message)" }
    if let seconds = secondsAhead(error["At"]) {
      text = "\(RelativeTime.phrase(min(0, seconds))): \(text)"
    }
    return TextTable.Cell(text, colour: failures > 0 ? .red : nil)
  }

  private func expiration(_ value: JSONValue?) -> TextTable.Cell {
    guard let seconds = secondsAhead(value) else { return TextTable.Cell(value?.text) }
    guard seconds > 0 else { return TextTable.Cell("expired", colour: .red) }
    // The AWS CLI asks again at each call when less than 15 minutes are left.
    return TextTable.Cell(RelativeTime.phrase(seconds), colour: seconds < 900 ? .yellow : nil)
  }

  /// The time of the next refresh and its reason, or why there is none.
  private func refresh(_ session: JSONValue) -> String? {
    let time = session["NextRefresh"]
    let when = secondsAhead(time).map { RelativeTime.phrase(max(0, $0)) } ?? time?.text
    let words = [when, session["NextRefreshReason"]?.text].compactMap(\.self)
    return words.isEmpty ? nil : words.joined(separator: ", ")
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

/// The `Daemon` object of a reply in one line, and a line for each problem that a person should
/// solve.
public struct DaemonLine: Sendable {
  public let text: String
  /// Empty if there is no problem, or if the caller is no administrator.
  public let troubles: [String]

  /// Reads `credd 1.0, pid 42, up 3 h` from the members that are there.
  public init(_ daemon: JSONValue?) {
    var text = "credd"
    if let version = daemon?["Version"]?.text { text += " \(version)" }
    if let pid = daemon?["Pid"]?.integer { text += ", pid \(pid)" }
    if let uptime = daemon?["Uptime"]?.integer, uptime >= 0 {
      text += ", up \(RelativeTime.span(uptime.magnitude))"
    }
    self.text = PlainText.oneLine(text)
    var troubles: [String] = []
    if let problem = daemon?["ReloadError"]?.text {
      troubles.append("the configuration was not reloaded: \(problem)")
    }
    if let problem = daemon?["StateDirectory"]?.text {
      troubles.append("identities are in memory alone: \(problem)")
    }
    if let skew = daemon?["ClockSkew"]?.integer, skew != 0 {
      let direction = skew > 0 ? "slow" : "fast"
      troubles.append("this host's clock is \(skew.magnitude) s \(direction)")
    }
    self.troubles = troubles.map(PlainText.oneLine)
  }
}

/// A line of `watch` for people.
public enum EventLine {
  /// `2026-01-01T00:00:00Z work: refreshed, expires in 60 min`.
  ///
  /// - Parameter event: checked against ``ReplyShape/event``.
  /// - Returns: nil for an event that this version does not know. `--json` prints it all the same.
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
      return [event["State"]?.text ?? "state", identity].compactMap { $0 }.joined(separator: " as ")
    case "identityChanged":
      let previous = event["PreviousIdentityId"]?.text ?? "none"
      return "identity changed from \(previous) to \(identity ?? "none")"
    case "degraded":
      let error = event["Error"]
      let code = error?["Code"]?.text ?? "unknown error"
      return "degraded: "
        + [code, error?["Message"]?.text].compactMap { $0 }.joined(separator: ": ")
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

  /// `42 min`, rounded down: credentials must not seem to last longer than they do.
  public static func span(_ seconds: UInt64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
