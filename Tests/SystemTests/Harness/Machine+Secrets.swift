import Foundation
import TestSupport
import Testing

extension Machine {
  private struct Reply: Decodable {
    var IdentityId, Token, SecretAccessKey, SessionToken: String?
  }

  /// What a user's replies hold: secrets by name, and the IdentityId.
  func replies(of user: String) throws -> (secrets: [String: String], identity: String) {
    let replies = try ["token", "get"].map {
      try JSONDecoder().decode(Reply.self, from: Data(try sh("credctl \($0)", as: user).utf8))
    }
    var secrets: [String: String] = [:]
    for reply in replies {
      secrets["\(user)'s token"] = reply.Token ?? secrets["\(user)'s token"]
      secrets["\(user)'s key"] = reply.SecretAccessKey ?? secrets["\(user)'s key"]
      secrets["\(user)'s session"] = reply.SessionToken ?? secrets["\(user)'s session"]
    }
    try #require(secrets.count == 3)
    return (secrets, try #require(replies[0].IdentityId))
  }

  /// The usual profile, with a backend that asks for passwords.
  func configurePasswords() throws {
    try configure(
      """
      [backend corp]
      type = http
      url = \(Self.sandbox)/token
      login_url = \(Self.sandbox)/login

      \(Self.profile("default"))
      """)
  }

  func logIn(_ user: String) throws {
    try sh(
      "credctl login --username \(user) --password-stdin", as: user, input: "\(user)-password\n")
  }

  /// Every field of every entry since the test's beginning, with what is too long for other forms.
  func wholeJournal() throws -> String {
    try sh("journalctl --output=export --all --since=@$(cat /root/began)")
  }
}
