extension RenderedReply {
  /// The answer to `status`.
  public static func status(_ sessions: [SessionReport], of daemon: DaemonReport) -> RenderedReply {
    RenderedReply(capacity: 512 + 512 * sessions.count) { writer in
      writer.key("Sessions")
      writer.beginArray()
      for session in sessions { writer.append(session) }
      writer.endArray()
      writer.field("Daemon") { $0.appendMembers(of: daemon) }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func append(_ session: SessionReport) {
    beginObject()
    field("Profile", session.profile)
    field("User", session.user)
    field("Uid", Int64(session.uid))
    field("State", session.state.rawValue)
    field("IdentityId", session.identityID)
    field("Expiration", session.expiration)
    field("NextRefresh", session.nextRefresh)
    field("NextRefreshReason", session.nextRefreshReason)
    if let error = session.lastError {
      field("LastError") { writer in
        writer.field("Code", error.code.rawValue)
        writer.field("Message", error.message)
        writer.field("At", error.at)
      }
    }
    field("Failures", Int64(session.failures))
    field("LastRefresh", session.lastRefresh)
    field("Waiters", Int64(session.waiters))
    if let caller = session.lastCaller {
      field("LastCaller") { writer in
        writer.field("Pid", Int64(caller.pid))
        writer.field("Unit", caller.unit)
      }
    }
    endObject()
  }

  fileprivate mutating func appendMembers(of daemon: DaemonReport) {
    field("Version", daemon.version)
    field("Pid", Int64(daemon.pid))
    field("Uptime", daemon.uptime.components.seconds)
    field("Sessions", Int64(daemon.sessions))
    field("Connections", Int64(daemon.connections))
    field("Requests", Int64(daemon.requests))
    field("BackendCalls", Int64(daemon.backendCalls))
    field("Exchanges", Int64(daemon.exchanges))
    field("Configured", daemon.configured)
    field("ClockSkew", daemon.clockSkew.map { Int64($0.inSeconds) })
    field("ReloadError", daemon.reloadProblem)
    field("StateDirectory", daemon.stateDirectory)
  }
}
