public import CredCore

/// The unit of systemd that opens credd's HTTP endpoint. credd cannot know of a socket that it was not
/// passed, so credctl looks.
public enum EndpointUnit {
  /// The name of its step in a `check`, and its kind among `Listeners`.
  public static let step = "endpoint"
  /// The link that `systemctl enable` makes.
  public static let link = "/etc/systemd/system/sockets.target.wants/credd-endpoint.socket"
  /// Its port, if the unit was not changed.
  public static let port: UInt16 = 337

  /// The step for an enabled unit if credd does not have its socket; nil if credd has it.
  ///
  /// - Parameters:
  ///   - status: a reply that was checked against ``ReplyShape/status``.
  ///   - holder: the user who listens at its port; nil if nobody does.
  public static func problem(_ status: JSONValue, holder: String?) -> JSONValue? {
    guard case .array(let listeners) = status["Daemon"]?["Listeners"],
      !listeners.contains(where: { $0["Kind"]?.text == step })
    else { return nil }
    let remedy =
      "'systemctl stop credd.service credd.socket credd-tokens.socket' and then 'systemctl start "
      + "credd.socket credd-tokens.socket credd-endpoint.socket'; the stop ends people's sign-ins"
    let text = "credd-endpoint.socket is enabled and not listening"
    let detail =
      holder.map {
        "\(text); port \(port) is held by \($0): end that program ('ss -ltnp sport = \(port)' names "
          + "it), then \(remedy)"
      }
      ?? "\(text): \(remedy)"
    let members: [(String, JSONValue)] = [
      ("Name", .string(Secret(step))), ("Ok", .bool(false)), ("Seconds", .number("0.000")),
      ("Detail", .string(Secret(detail))),
    ]
    return .object(members.map { JSONMember(key: $0, keyOffset: 0, value: $1) })
  }
}

/// The users in `/etc/passwd` (passwd(5)), for a program that cannot ask the user database.
public enum LocalUsers {
  /// `user alice`, or `uid 1000` for a user who is not there.
  public static func words(for uid: UInt32, in file: [UInt8]) -> String {
    for line in file.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      guard fields.count > 2, fields[2].elementsEqual("\(uid)".utf8), !fields[0].isEmpty else {
        continue
      }
      return PlainText.oneLine("user \(String(decoding: fields[0], as: UTF8.self))")
    }
    return "uid \(uid)"
  }
}
