/// Why a template has no text for a caller.
public enum TemplateError: Error, Sendable, Equatable {
  /// The template holds `{user}`, and the caller's uid has no name.
  case userNameNeeded
  /// A name such as `..` would change the path of a URL.
  case dotSegment
}
