public import CredCore

/// The `Daemon` object of a reply in one line, and a line for each thing that somebody should mend.
public struct DaemonLine: Sendable {
  public let text: String
  /// Empty where all is well, and for those who could not mend it.
  public let troubles: [String]

  /// `credd 1.0, pid 42, up 3 h`: what is known of it.
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
