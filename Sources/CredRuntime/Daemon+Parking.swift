internal import Logging

/// Sessions while no daemon runs.
extension Daemon {
  func park() {
    guard let store = service.state.store else { return }
    do throws(SystemError) {
      guard let folder = options.runtimeDirectory else {
        throw SystemError("find the unit's RuntimeDirectory=", number: 2)
      }
      try ParkedSessions(in: folder).put(store)
    } catch {
      log.warning("the sessions may end with this daemon: \(error)")
    }
  }

  /// What the last daemon parked, where there is any.
  func takeParked() -> [PassedDescriptors.Named] {
    guard let folder = options.runtimeDirectory else { return [] }
    do throws(SystemError) {
      guard let store = try ParkedSessions(in: folder).take() else { return [] }
      return [PassedDescriptors.Named(descriptor: store, name: PassedDescriptors.parkedName)]
    } catch {
      log.log(.sessionsDropped, .warning, "parked sessions cannot be used: \(error)")
      return []
    }
  }
}
