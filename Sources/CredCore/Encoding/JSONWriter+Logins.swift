extension JSONWriter {
  /// `"Logins":{…}`; nothing where there are none, since Cognito takes an empty map for a guest.
  mutating func logins(_ logins: LoginsMap) {
    guard !logins.isEmpty else { return }
    key("Logins")
    beginObject()
    for login in logins.logins { field(login.provider, login.token) }
    endObject()
  }
}
