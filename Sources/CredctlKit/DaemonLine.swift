public import CredCore

/// The `Daemon` object of a reply in one line.
public struct DaemonLine: Sendable {
  public let text: String

  /// `credd 1.0, pid 42, up 3 h`: what is known of it.
  public init(_ daemon: JSONValue?) {
    var text = "credd"
    if let version = daemon?["Version"]?.text { text += " \(version)" }
    if let pid = daemon?["Pid"]?.integer { text += ", pid \(pid)" }
    if let uptime = daemon?["Uptime"]?.integer, uptime >= 0 {
      text += ", up \(RelativeTime.span(uptime.magnitude))"
    }
    self.text = PlainText.oneLine(text)
  }
}
