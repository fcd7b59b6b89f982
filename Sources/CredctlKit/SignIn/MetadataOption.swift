public import CredCore

/// `--client-metadata NAME=VALUE`, repeatable: texts for the triggers of a user pool. They are no
/// secrets: every user who can see the command line can see them.
public enum MetadataOption {
  public static let name = "--client-metadata"

  /// - Throws: a ``Failure`` with ``Sysexit/usage`` if a text has no name, or if a name occurs
  ///   twice.
  public static func entries(
    _ texts: [String]
  ) throws(Failure) -> [(name: String, text: Secret)] {
    var entries: [(name: String, text: Secret)] = []
    for text in texts {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
        throw Failure(.usage, "option '\(name)' takes NAME=VALUE")
      }
      let key = String(text[..<equals])
      guard !entries.contains(where: { $0.name.utf8.elementsEqual(key.utf8) }) else {
        throw Failure(.usage, "option '\(name)' names \(key.quoted) twice")
      }
      entries.append((key, Secret(String(text[text.index(after: equals)...]))))
    }
    guard entries.count <= Limits.UserPool.metadataEntries else {
      throw Failure(
        .usage, "option '\(name)' is taken \(Limits.UserPool.metadataEntries) times at most")
    }
    return entries
  }
}

extension RequestLine {
  /// Adds texts for the triggers of a user pool, if there are any.
  public mutating func add(metadata entries: [(name: String, text: Secret)]) {
    guard !entries.isEmpty else { return }
    add("client_metadata", entries.map { (provider: $0.name, token: $0.text) })
  }
}
