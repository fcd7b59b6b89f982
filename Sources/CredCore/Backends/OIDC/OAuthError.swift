/// `{"error":…,"error_description":…}` of a provider (RFC 6749, 4.1.2.1 and 5.2).
struct OAuthError: Equatable {
  /// Such as `invalid_grant`.
  let name: String
  /// The provider's text, cleaned for credd's own messages.
  let message: String?

  /// Returns nil if the name is not valid: it must have up to 64 letters, digits and `._-`.
  init?(name: some Collection<UInt8>, description: [UInt8]?, hiding sent: SentSecrets) {
    let text = String(decoding: name, as: UTF8.self)
    guard (1...64).contains(name.count), text.containsOnlyLettersDigits(or: "_.-"),
      !sent.occur(in: text.utf8), RemoteText.clean(text.utf8) == text
    else { return nil }
    self.name = text
    message = description.flatMap { RemoteText.clean($0, hiding: sent) }
  }

  /// Returns nil if the reply has no error.
  init?(_ reply: HTTPReply) {
    guard reply.body.count <= Limits.OIDC.replyBytes,
      let body = try? JSONValue.parse(foreign: reply.body), let name = body["error"]?.secret
    else { return nil }
    self.init(
      name: name.bytes, description: body["error_description"]?.secret?.bytes, hiding: reply.sent)
  }

  /// The name as `Reason` of a reply, which has only letters: `invalid_grant` is `InvalidGrant`.
  var reason: String? {
    let words = name.split { !$0.isLetter }
    let joined = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return joined.isEmpty || !joined.utf8.allSatisfy { $0.isLetterOrDigit && !$0.isDigit }
      ? nil : joined
  }
}
