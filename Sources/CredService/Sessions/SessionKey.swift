/// The user and the profile of a session.
package struct SessionKey: Hashable, Comparable, Sendable {
  /// The session's user.
  package let uid: UInt32
  /// The profile's name.
  package let profile: String

  package init(uid: UInt32, profile: String) {
    self.uid = uid
    self.profile = profile
  }

  package static func < (one: SessionKey, other: SessionKey) -> Bool {
    (one.uid, one.profile) < (other.uid, other.profile)
  }
}
