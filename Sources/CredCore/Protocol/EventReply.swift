/// An event that `watch` reports.
public enum SessionEvent: Sendable, Equatable {
  /// The session's state: once when a watch begins, then at each change.
  case state(ReportedState, identityID: IdentityID?, signedIn: SignedIn? = nil)
  /// Cognito gave the user another identity.
  case identityChanged(previous: IdentityID?, current: IdentityID)
  /// The session has new credentials, or new tokens where a profile gives them alone.
  case refreshed(identityID: IdentityID?, expiration: WallTime, nextRefresh: WallTime?)
  /// A refresh failed. What is held is valid until `expiration`; nil if there is nothing.
  case degraded(ProtocolError, expiration: WallTime?)
  /// A sign-in asks its user a question. Watchers get neither its handle nor its parameters.
  case challenge(SignInChallenge, remaining: Duration)

  /// The value of `Event`.
  public var name: String {
    switch self {
    case .state: "state"
    case .identityChanged: "identityChanged"
    case .refreshed: "refreshed"
    case .degraded: "degraded"
    case .challenge: "challenge"
    }
  }
}

extension RenderedReply {
  /// A line of `watch`.
  public static func event(_ event: SessionEvent, profile: String) -> RenderedReply {
    RenderedReply { writer in
      writer.field("Event", event.name)
      writer.field("Profile", profile)
      switch event {
      case .state(let state, let identityID, let signedIn):
        writer.field("State", state.rawValue)
        writer.field("IdentityId", identityID)
        writer.append(signedIn)
      case .identityChanged(let previous, let current):
        writer.field("PreviousIdentityId", previous)
        writer.field("IdentityId", current)
      case .refreshed(let identityID, let expiration, let nextRefresh):
        writer.field("IdentityId", identityID)
        writer.field("Expiration", expiration)
        writer.field("NextRefresh", nextRefresh)
      case .degraded(let error, let expiration):
        writer.field("Error", error)
        writer.field("Expiration", expiration)
      case .challenge(let challenge, let remaining):
        writer.field("Step", challenge.step.name)
        writer.field("Name", challenge.name)
        writer.field("ExpiresIn", max(remaining, .zero).components.seconds)
      }
    }
  }
}
