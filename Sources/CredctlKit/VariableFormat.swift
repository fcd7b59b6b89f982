internal import CredCore

/// How `credctl env` writes ``CredentialVariables``.
public enum VariableFormat: String, CaseIterable, Sendable {
  /// For `eval` in a POSIX shell.
  case sh
  /// For `source` in fish.
  case fish
  /// For docker's `--env-file` and systemd's `EnvironmentFile=`.
  case dotenv
  /// One object.
  case json

  /// The whole text with its last newline. It is as secret as its values.
  ///
  /// - Throws: a ``Failure`` where a value cannot be written so that all its readers agree on it.
  public func text(of variables: CredentialVariables) throws(Failure) -> [UInt8] {
    switch self {
    case .sh: shellText(of: variables)
    case .fish: fishText(of: variables)
    case .dotenv: try dotenvText(of: variables)
    case .json: jsonText(of: variables)
    }
  }

  private func shellText(of variables: CredentialVariables) -> [UInt8] {
    var text = Array("unset \(variables.removed.joined(separator: " "))\n".utf8)
    for variable in variables.variables {
      text += Array("export \(variable.name)='".utf8)
      for byte in variable.value.bytes {
        // A quote ends the quoted part, stands escaped by itself, and begins the next part.
        if byte == UInt8(ascii: "'") { text += #"'\''"#.utf8 } else { text.append(byte) }
      }
      text += "'\n".utf8
    }
    return text
  }

  private func fishText(of variables: CredentialVariables) -> [UInt8] {
    // Global alone: a universal variable would be gone from all of the user's shells, for good.
    var text = Array("set -eg \(variables.removed.joined(separator: " "))\n".utf8)
    for variable in variables.variables {
      text += Array("set -gx \(variable.name) '".utf8)
      for byte in variable.value.bytes {
        let isEscaped = byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\")
        if isEscaped { text.append(UInt8(ascii: "\\")) }
        text.append(byte)
      }
      text += "'\n".utf8
    }
    return text
  }

  /// Docker takes quotes for a part of the value, systemd does not, Compose expands `$`: only what
  /// needs no quotes means the same to all.
  private func dotenvText(of variables: CredentialVariables) throws(Failure) -> [UInt8] {
    var text: [UInt8] = []
    for variable in variables.variables {
      guard variable.value.bytes.allSatisfy(Self.isPlain) else {
        throw Failure(
          .unavailable,
          "\(variable.name) holds a character that readers of dotenv files disagree about: "
            + "use another '--format'")
      }
      text += Array("\(variable.name)=".utf8)
      variable.value.append(to: &text)
      text += "\n".utf8
    }
    return text
  }

  private func jsonText(of variables: CredentialVariables) -> [UInt8] {
    var writer = JSONWriter(capacity: 2048)
    writer.beginObject()
    for variable in variables.variables {
      writer.key(variable.name)
      writer.string(variable.value)
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// Base64, base64url, times and numbers.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "+/=_-.:".utf8.contains(byte)
    }
  }
}
