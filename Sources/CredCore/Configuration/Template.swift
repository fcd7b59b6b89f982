/// A text with `{user}`, `{uid}` and `{host}` in it, and perhaps `{claim.NAME}`; `{{` and `}}` stand for
/// the braces themselves.
public struct Template: Sendable, Equatable {
  public enum Placeholder: String, Sendable, CaseIterable {
    /// The caller's name in the host's user database.
    case user
    /// The caller's numeric user id, which always exists.
    case uid
    /// The host's name.
    case host
  }

  public enum Part: Sendable, Equatable {
    case literal(String)
    case placeholder(Placeholder)
    /// A claim of the ID token of the sign-in, by its name.
    case claim(String)
  }

  /// How the values are encoded. The text around them is not encoded.
  public enum Encoding: Sendable {
    case none
    /// Percent-encoded except for RFC 3986's unreserved characters: no value can end its path
    /// segment or its parameter.
    case urlPath
  }

  /// No literal is empty, and no two literals follow each other.
  public let parts: [Part]

  /// `{user}`.
  public static let user = Template(parts: [.placeholder(.user)])

  private init(parts: [Part]) {
    self.parts = parts
  }

  /// Throws on an unknown placeholder, and on a brace without its counterpart.
  ///
  /// - Parameter takesClaims: whether it may have `{claim.NAME}`.
  public init(_ text: String, takesClaims: Bool = false) throws(InvalidValue) {
    var parts: [Part] = []
    var literal = ""
    var rest = text[...]
    while let character = rest.first {
      if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
        literal.append(character)
        rest = rest.dropFirst(2)
      } else if character == "{" {
        if !literal.isEmpty { parts.append(.literal(literal)) }
        literal = ""
        parts.append(try Template.takePlaceholder(from: &rest, orClaim: takesClaims))
      } else if character == "}" {
        throw InvalidValue("'}' has no '{'; a brace itself is written '}}'")
      } else {
        literal.append(character)
        rest = rest.dropFirst()
      }
    }
    if !literal.isEmpty { parts.append(.literal(literal)) }
    self.parts = parts
  }

  /// As written in a configuration.
  public var text: String {
    parts.map { part in
      switch part {
      case .literal(let text): String(text.flatMap { $0 == "{" || $0 == "}" ? [$0, $0] : [$0] })
      case .placeholder(let placeholder): "{\(placeholder.rawValue)}"
      case .claim(let name): "{\(Self.claim)\(name)}"
      }
    }.joined()
  }

  private static let claim = "claim."

  private static func takePlaceholder(
    from rest: inout Substring, orClaim takesClaims: Bool
  ) throws(InvalidValue) -> Part {
    guard let end = rest.firstIndex(of: "}") else {
      throw InvalidValue("'{' has no '}'; a brace itself is written '{{'")
    }
    let name = String(rest[..<end].dropFirst())
    if takesClaims, name.hasPrefix(claim), name.count > claim.count {
      rest = rest[rest.index(after: end)...]
      return .claim(String(name.dropFirst(claim.count)))
    }
    guard let placeholder = Placeholder(rawValue: name) else {
      let known =
        Placeholder.allCases.map { "{\($0.rawValue)}" } + (takesClaims ? ["{\(claim)NAME}"] : [])
      throw InvalidValue(
        "the placeholder \("{\(name)}".singleQuoted) is not known"
          + NearestName.suggestion(
            "{\(name)}", in: known, otherwise: "; known are \(known.joined(separator: ", "))"))
    }
    rest = rest[rest.index(after: end)...]
    return .placeholder(placeholder)
  }
}

extension Template {
  /// Whether the template contains `{user}`, so that a uid without a name cannot use it.
  public var needsUserName: Bool { parts.contains(.placeholder(.user)) }

  /// Whether the text is the same for all users.
  public var isConstant: Bool {
    parts.allSatisfy { if case .literal = $0 { true } else { false } }
  }

  /// The names of the claims in it.
  var claims: [String] { parts.compactMap { if case .claim(let name) = $0 { name } else { nil } } }

  /// The text around the placeholders.
  var literals: [String] {
    parts.compactMap { if case .literal(let text) = $0 { text } else { nil } }
  }

  /// The text for one caller. Throws if `{user}` or a claim has no value. With `.urlPath` it also throws
  /// if a value would make a path segment `.` or `..`, which leads to another resource.
  public func expand(
    user: String?, uid: UInt32, host: String, claims: TokenClaims? = nil,
    encoding: Encoding = .none
  ) throws(TemplateError) -> String {
    var result = ""
    for part in parts {
      let value: String
      switch part {
      case .literal(let text):
        result += text
        continue
      case .placeholder(.user):
        guard let user else { throw .userNameNeeded }
        value = user
      case .placeholder(.uid):
        value = String(uid)
      case .placeholder(.host):
        value = host
      case .claim(let name):
        guard let claims else { throw .claimMissing(name) }
        value = try claims.text(name)
      }
      result += encoding == .none ? value : PercentEncoding.encode(value)
    }
    if encoding == .urlPath, !isConstant, result.containsDotSegment { throw .dotSegment }
    return result
  }
}

/// The reason why a template cannot be expanded for a caller.
public enum TemplateError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The template contains `{user}`, and the caller's uid has no name.
  case userNameNeeded
  /// A name such as `..` would change the path of a URL.
  case dotSegment
  /// The ID token has no text in this claim.
  case claimMissing(String)
  /// The ID token's address counts only with `email_verified`.
  /// An address or a number that the provider has not verified.
  case claimNotVerified(String)

  public var description: String {
    switch self {
    case .userNameNeeded: "has {user} in it, and the uid has no name on this host"
    case .dotSegment: "would lead to another path for this user's name"
    case .claimMissing(let name):
      "has {claim.\(name)} in it, and the ID token has no text in its claim \(name.quoted)"
    case .claimNotVerified(let name):
      "has {claim.\(name)} in it, and the provider does not say that it has verified that claim "
        + "(\(name)_verified)"
    }
  }
}

/// A URL with placeholders in its path or query. Scheme, host and port have none: a user's name
/// must never choose the destination of a request.
public struct URLTemplate: Sendable, Equatable {
  public let template: Template
  /// The URL with a letter in place of each placeholder, and so with the real scheme and host.
  let sample: HTTPURL

  public init(_ text: String) throws(InvalidValue) {
    template = try Template(text)
    if let (index, _) = template.parts.enumerated().first(where: { $1.isPlaceholder }) {
      guard index == 1, case .literal(let start) = template.parts[0],
        start.drop(while: { $0 != ":" }).dropFirst(3).contains(where: { $0 == "/" || $0 == "?" })
      else { throw InvalidValue("placeholders belong in a URL's path or query only") }
    }
    let text = template.parts.map { part in
      if case .literal(let text) = part { text } else { "x" }
    }
    sample = try HTTPURL(text.joined())
  }

  /// See ``HTTPURL/init(unread:)``.
  init(unread: Void) {
    template = .user
    sample = HTTPURL(unread: ())
  }

  /// See ``Template/needsUserName``.
  public var needsUserName: Bool { template.needsUserName }

  /// The URL for one caller, the values percent-encoded. Throws as ``Template`` does.
  public func expand(user: String?, uid: UInt32, host: String) throws(TemplateError) -> String {
    try template.expand(user: user, uid: uid, host: host, encoding: .urlPath)
  }
}

extension Template.Part {
  fileprivate var isPlaceholder: Bool {
    if case .literal = self { false } else { true }
  }
}
