/// An IAM policy that narrows a session, with placeholders for the session's user (design: least privilege).
///
/// `{user}`, `{uid}` and `{host}` stand in values of Resource and Condition. Every other brace is the
/// policy's own, so that IAM's `${aws:…}` stays.
public struct SessionPolicy: Sendable, Equatable {
  enum Part: Sendable, Equatable {
    case literal(String)
    case placeholder(Template.Placeholder)
  }

  /// The minified policy, with its placeholders.
  let parts: [Part]
  /// What an administrator should look at, a sentence each.
  public let warnings: [String]

  /// - Throws: if the text is no policy in the form that STS takes.
  public init(_ bytes: [UInt8]) throws(InvalidValue) {
    let json: JSONValue
    do {
      json = try JSONValue.parse(bytes)
    } catch {
      throw InvalidValue("is not JSON: at byte \(error.offset), \(error.message)")
    }
    var reader = PolicyReader()
    try reader.read(json)
    parts = reader.parts
    warnings = reader.warnings
    let length = parts.reduce(0) { sum, part in
      if case .literal(let text) = part { sum + text.unicodeScalars.count } else { sum }
    }
    guard Limits.Upstream.policyLength.contains(length) else {
      throw InvalidValue(
        "has \(length) characters without its blanks; STS takes "
          + "\(Limits.Upstream.policyLength.upperBound)")
    }
  }

  /// For fingerprints: two policies with the same text are the same.
  var stored: String {
    parts.map { part in
      switch part {
      case .literal(let text): text
      // A brace of the policy's own is never followed by this.
      case .placeholder(let placeholder): "\u{0}\(placeholder.rawValue)\u{0}"
      }
    }.joined()
  }

  /// Whether a uid without a name cannot have it.
  public var needsUserName: Bool { parts.contains(.placeholder(.user)) }

  /// The policy of one user. Values are escaped, so that they stand for themselves in JSON and in IAM.
  ///
  /// - Throws: if it would be another policy, or none that STS takes.
  public func text(user: String?, uid: UInt32, host: String) throws(PolicyRefusal) -> String {
    var text = ""
    for part in parts {
      switch part {
      case .literal(let literal): text += literal
      case .placeholder(.user):
        guard let user else { throw .userNameNeeded }
        text += try Self.escaped(user)
      case .placeholder(.uid): text += String(uid)
      case .placeholder(.host): text += try Self.escaped(host)
      }
    }
    let length = text.unicodeScalars.count
    guard Limits.Upstream.policyLength.contains(length) else { throw .tooLong(length) }
    return text
  }

  /// The same, for a request.
  ///
  /// - Parameter file: the file's name without its folder.
  func text(of file: String?, for user: UnixUser, host: String) throws(InvalidInput) -> String {
    do {
      return try text(user: user.name, uid: user.uid, host: host)
    } catch {
      throw InvalidInput(field: "policy_file", reason: "\(file ?? "") \(error)")
    }
  }

  private static func escaped(_ value: String) throws(PolicyRefusal) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "/", ":": throw .separator
      case _ where scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value): throw .control
      case _ where scalar.value > 0xFF: throw .notTaken
      case "*", "?", "$": text += "${\(scalar)}"
      case "\"", "\\": text += "\\\(scalar)"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

/// Why a user gets no policy. No description repeats a byte of the user's name.
public enum PolicyRefusal: Error, Sendable, Equatable, CustomStringConvertible {
  case userNameNeeded
  /// A slash or a colon would begin another part of an ARN.
  case separator
  case control
  /// A character over U+00FF, which STS does not take.
  case notTaken
  /// Of so many characters.
  case tooLong(Int)

  public var description: String {
    switch self {
    case .userNameNeeded: "has {user} in it, and the uid has no name on this host"
    case .separator: "cannot hold this name: it has '/' or ':' in it"
    case .control: "cannot hold this name: it has a control character in it"
    case .notTaken: "cannot hold this name: it has a character that STS does not take"
    case .tooLong(let length):
      "has \(length) characters with this user's name; STS takes "
        + "\(Limits.Upstream.policyLength.upperBound)"
    }
  }
}
