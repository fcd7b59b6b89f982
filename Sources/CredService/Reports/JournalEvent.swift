package import CredCore
package import Logging

/// The events for which a person searches the journal, by their message ids (systemd.journal-fields
/// (7)): `journalctl MESSAGE_ID=…`. An id never changes its meaning; `systemd/credd.catalog`
/// explains each.
package enum JournalEvent: String, CaseIterable, Sendable {
  /// Credentials were given to a process, for the first time since they were fetched.
  case credentialsGiven = "fa49fa7d50a447f891a95eaa44ec9dd5"
  /// Credentials of another user were given to a process.
  case impersonated = "539122af8e144a469b0774d10e5ea6fd"
  /// New credentials came from upstream.
  case credentialsRefreshed = "3eca26abb1ba467f88ac37d878bbdf91"
  /// A sign-in was refused.
  case signInRefused = "1be4fc172f324bf58d06a7794ce598ed"
  /// A sign-in was not judged, or an operator must act before one can succeed.
  case signInFailed = "894a7d7aa3dd41f6a05534bcf3f79779"
  /// A user signed in, or is known again.
  case signedIn = "47da057da31a4c58a5b95dea84fa47a5"
  /// A user signed out, or was signed out.
  case signedOut = "7b9de9ebfe8b42528f85473ecc139694"
  /// The tokens of a user are no longer accepted.
  case signInNeeded = "9e590e6e166f46f4a57ccfe6b0b8025e"
  /// A user has another identity in the pool.
  case identityChanged = "94e1741254274b42be1c6d57a7867104"
  /// A uid has another name: everything of its former owner was dropped.
  case uidPassedOn = "4934e3b922674db4b7b402faaaee2c07"
  /// Credentials could not be fetched or renewed; credd still hands out those that it holds.
  case refreshFailed = "38ea56f3a2084aac945afc1520d47a1d"
  /// A user asked for something about an account at a backend, such as a new one.
  case accountAction = "7d1a3d6f0c4b4b0ea0b7c7d1c6f1c52e"
  /// A refresh token was dropped at a sign-out, and its issuer did not revoke it.
  case tokensNotRevoked = "2f0a7c5be2a94e6d8f6d1d1f4f8a0b37"
  /// A backend, Cognito or STS does not work.
  case upstreamUnavailable = "a3c1f0f65c0b4d0c9a5e1a9c1f6f7d22"
  /// A backend, Cognito or STS works again.
  case upstreamAvailable = "5b9d5f5e0c7a4f0d8f2f0f6a3b7e4c91"
  /// A limit refused a user's request or connection.
  case limitHit = "f24c939caf3840989edd522d89a4b8e3"
  /// A caller may not use a profile.
  case accessRefused = "60c8f6f0da0740dca071e5e8376e27a7"
  /// The configuration was read again and is in force.
  case configurationLoaded = "6ccb95d91700469784a933ca33289ed0"
  /// The configuration was read again and is unusable; the old one stays.
  case configurationRefused = "c0f5b5e7e64f4df9bb6601cd708b5fb6"
  /// Sessions came back from before a restart.
  case sessionsRestored = "f1695e308fb343d7911f5808f2030dd4"
  /// Sessions of before a restart could not be read.
  case sessionsDropped = "9ee4298259eb49e79fab529c8c49a8d4"
  /// Identities cannot be kept on disk.
  case stateUnwritable = "71dfaad2bb1f455ea6cfdba203158cb1"
  /// This host's clock is off by more than a minute.
  case clockOff = "c436856a040245be8ee31f569f037f92"
  /// A backend's enrolment of this host ends soon.
  case enrolmentEnds = "3d0c6a4b1f9e4f7c8a52d7e6b91c0f48"
}

extension Logger {
  /// The metadata key that becomes the journal's `MESSAGE_ID=`, not a field of credd's own.
  package static let messageID = "message_id"

  /// Logs an event that people search for.
  package func log(
    _ event: JournalEvent, _ level: Level, _ message: @autoclosure () -> Message,
    _ metadata: @autoclosure () -> Metadata = [:]
  ) {
    log(
      level: level, message(),
      metadata: metadata().merging([Self.messageID: "\(event.rawValue)"]) { $1 })
  }
}

extension Logger {
  /// Logs that this host's clock is off, or right again.
  package func report(_ change: ClockSkew.Change) {
    switch change {
    case .off(let skew):
      let seconds = Int(skew / .seconds(1))
      log(
        .clockOff, .warning,
        "this host's clock is \(abs(seconds)) s \(seconds > 0 ? "slow" : "fast"), says AWS: set it",
        ["seconds": "\(seconds)"])
    case .right: notice("this host's clock is right again, says AWS")
    }
  }
}
