internal import CredCore

/// One `--login PROVIDER=@FILE` or `--login PROVIDER=-`: where a provider's token is read from.
///
/// A token on the command line itself would be there for every user of the host to read.
public struct LoginSource: Equatable, Sendable {
  public enum Place: Equatable, Sendable {
    case file(String)
    case standardInput
  }

  public let provider: String
  public let place: Place

  /// - Throws: a ``Failure`` with ``Sysexit/usage``, which does not repeat the text after `=`.
  public init(_ text: String) throws(Failure) {
    // SAML provider ARNs and user pools hold no `=`, so the first one ends the provider.
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw Failure(.usage, "option '--login' takes PROVIDER=@FILE or PROVIDER=-")
    }
    provider = String(text[..<equals])
    let source = text[text.index(after: equals)...]
    if source == "-" {
      place = .standardInput
    } else if source.hasPrefix("@"), source.count > 1 {
      place = .file(String(source.dropFirst()))
    } else {
      throw Failure(
        .usage,
        "option '--login \(provider)=' takes @FILE or -, not a token: others would see it")
    }
  }

  /// Several of them: each provider once, at most one on standard input.
  public static func list(_ texts: [String]) throws(Failure) -> [LoginSource] {
    var sources: [LoginSource] = []
    for text in texts {
      let source = try LoginSource(text)
      guard !sources.contains(where: { $0.provider == source.provider }) else {
        throw Failure(.usage, "option '--login' names \(source.provider) twice")
      }
      sources.append(source)
    }
    guard sources.count(where: { $0.place == .standardInput }) <= 1 else {
      throw Failure(.usage, "option '--login' reads standard input for one provider only")
    }
    guard sources.count <= Limits.Upstream.logins else {
      throw Failure(.usage, "option '--login' takes \(Limits.Upstream.logins) providers at most")
    }
    return sources
  }
}
