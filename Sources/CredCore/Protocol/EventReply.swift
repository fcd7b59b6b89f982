/// What a watcher is told.
public enum SessionEvent: Sendable, Equatable {
  /// The state now: first when a watch begins, then whenever it changes.
  case state(ReportedState, identityID: IdentityID?)
  /// Upstream gave the user another identity.
  case identityChanged(previous: IdentityID?, current: IdentityID)
  /// There are new credentials.
  case refreshed(identityID: IdentityID, expiration: WallTime, nextRefresh: WallTime?)
  /// A refresh failed. What is at hand serves until `expiration`, if there is anything.
  case degraded(ProtocolError, expiration: WallTime?)

  /// The `Event` of the line.
  public var name: String {
    switch self {
    case .state: "state"
    case .identityChanged: "identityChanged"
    case .refreshed: "refreshed"
    case .degraded: "degraded"
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
      case .state(let state, let identityID):
        writer.field("State", state.rawValue)
        writer.field("IdentityId", identityID)
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
      }
    }
  }
}
