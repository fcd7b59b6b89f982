public import CredCore

/// The reply to `status` as a person reads it.
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
  public func rendered(on surface: TextTable.Surface) -> String {
    let head = ([daemon.text] + daemon.troubles).map { $0 + "\n" }.joined()
    guard !sessions.isEmpty else { return head + "no sessions\n" }
    var table = TextTable(
      header: [
        "PROFILE", "USER", "STATE", "IDENTITY", "EXPIRES", "REFRESH", "LAST CALLER", "LAST ERROR",
      ],
      shrinking: [(7, 32), (5, 9), (3, 16), (6, 12), (7, 10), (0, 8), (1, 8)])
    for session in sessions { table.append(cells(of: session)) }
    return head + "\n" + table.rendered(on: surface)
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

  /// The last error stays to be seen after a success; only one that goes on is coloured.
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
    // Below 15 minutes the AWS CLI asks again on each call.
    return TextTable.Cell(RelativeTime.phrase(seconds), colour: seconds < 900 ? .yellow : nil)
  }

  /// When, and why then; or why not.
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
