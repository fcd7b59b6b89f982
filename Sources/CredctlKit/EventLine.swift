public import CredCore

/// A line of `watch` as a person reads it.
public enum EventLine {
  /// `2026-01-01T00:00:00Z work: refreshed, expires in 60 min`.
  ///
  /// - Parameter event: checked against ``ReplyShape/event``.
  public static func text(of event: JSONValue, now: WallTime) -> String {
    let profile = event["Profile"]?.text ?? "-"
    let text =
      "\(now.iso8601) \(profile): \(([what(event)] + times(event, now)).joined(separator: ", "))"
    return PlainText.oneLine(text)
  }

  private static func what(_ event: JSONValue) -> String {
    let name = event["Event"]?.text ?? "-"
    let identity = event["IdentityId"]?.text
    switch name {
    case "state":
      return [event["State"]?.text ?? name, identity].compactMap { $0 }.joined(separator: " as ")
    case "identityChanged":
      let previous = event["PreviousIdentityId"]?.text ?? "none"
      return "identity changed from \(previous) to \(identity ?? "none")"
    case "degraded":
      let error = event["Error"]
      let code = error?["Code"]?.text ?? "unknown error"
      return "degraded: "
        + [code, error?["Message"]?.text].compactMap { $0 }.joined(separator: ": ")
    default:
      return name
    }
  }

  private static func times(_ event: JSONValue, _ now: WallTime) -> [String] {
    [("Expiration", "expires"), ("NextRefresh", "next refresh")].compactMap { key, words in
      guard let text = event[key]?.text, let time = WallTime(iso8601: text) else { return nil }
      return "\(words) \(RelativeTime.phrase((time.milliseconds - now.milliseconds) / 1000))"
    }
  }
}
