/// A URL whose path and query may hold placeholders. Scheme, host and port may not: a user's name
/// must never decide where a request goes.
public struct URLTemplate: Sendable, Equatable {
  public let template: Template
  /// The URL with a letter for each placeholder: for what does not depend on them.
  let sample: ConfiguredURL

  /// Whether the scheme is https.
  public var isEncrypted: Bool { sample.isEncrypted }
  /// The host in lower case; an IPv6 address without its brackets.
  public var host: String { sample.host }
  /// Nil where the scheme's own is meant.
  public var port: Int? { sample.port }
  /// See ``ConfiguredURL/isLoopback``.
  public var isLoopback: Bool { sample.isLoopback }

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
    sample = try ConfiguredURL(text.joined())
  }

  /// See ``ConfiguredURL/init(unread:)``.
  init(unread: Void) {
    template = .user
    sample = ConfiguredURL(unread: ())
  }

  /// Whether a uid without a name cannot use this.
  public var needsUserName: Bool { template.needsUserName }

  /// The URL for one caller, the values percent-encoded. Throws as ``Template`` does.
  public func expand(user: String?, uid: UInt32, host: String) throws(TemplateError) -> String {
    try template.expand(user: user, uid: uid, host: host, encoding: .urlPath)
  }
}

extension Template.Part {
  fileprivate var isPlaceholder: Bool {
    if case .placeholder = self { true } else { false }
  }
}
