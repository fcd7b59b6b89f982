/// What credctl says to somebody who typed it alone.
public enum MainVerbs {
  /// What most people need, in the order in which they need it.
  public static let all: [(verb: String, meaning: String)] = [
    ("profiles", "which profiles there are, and how to sign in"),
    ("login", "sign in, and 'logout' to sign out"),
    ("get", "print credentials: the credential_process of ~/.aws/config"),
    ("exec", "run a command with credentials"),
    ("env", "print credentials as variables of a shell"),
    ("status", "the sessions, and what is wrong with them"),
    ("check", "ask every server of a profile once, step by step"),
    ("help", "all verbs; 'help VERB' has its options and examples"),
  ]

  /// A line each.
  public static var text: String {
    let width = all.map(\.verb.count).max() ?? 0
    return all.map { verb, meaning in
      "  credctl \(verb)" + String(repeating: " ", count: width - verb.count + 2) + meaning + "\n"
    }.joined()
  }
}
