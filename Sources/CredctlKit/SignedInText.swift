public import CredCore

/// Who is signed in to a session, and how, for people: a user may have signed in with another account
/// than was meant.
public enum SignedInText {
  /// `oidc as alice (00u1)`.
  ///
  /// - Parameter session: the reply with a session's state, or a row of `status`.
  /// - Returns: nil where nobody is signed in, or a guest: the state says so.
  public static func words(_ session: JSONValue) -> String? {
    guard let means = session["SignedInBy"]?.text, means != "guest" else { return nil }
    let (name, subject) = (session["Username"]?.text, session["Subject"]?.text)
    let who = [
      name.map { "as \($0)" }, subject.flatMap { $0 == name ? nil : "(\($0))" },
    ]
    return ([means] + who.compactMap(\.self)).joined(separator: " ")
  }

  /// The line for the reply with a session's state: `work signedIn us-east-1:… by oidc as alice (00u1)`,
  /// and until when, where the sign-in cannot be renewed.
  ///
  /// - Parameter reply: checked against ``ReplyShape/session``.
  public static func line(_ reply: JSONValue) -> String {
    let state = ["Profile", "State", "IdentityId"].map { reply[$0]?.text ?? "-" }
    let words = state + [words(reply).map { "by \($0)" }].compactMap(\.self)
    let more = [reply["SignedInUntil"]?.text.map { "until \($0)" }, DerivedText.words(reply)]
    return PlainText.oneLine(
      ([words.joined(separator: " ")] + more.compactMap(\.self)).joined(separator: ", ")) + "\n"
  }
}
