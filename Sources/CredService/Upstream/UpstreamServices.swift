import CredCore
package import Logging

/// Everything needed to make calls.
package struct UpstreamServices {
  let clock: any Clock
  let background: any Background
  let queries: any HostQueries
  let http: any HTTPSending
  let commands: any CommandRunning
  let crypto: any CryptoLoading
  /// This host's name, for `{host}` in templates.
  let hostName: String
  let log: Logger

  package init(
    clock: any Clock, background: any Background, queries: any HostQueries,
    http: any HTTPSending, commands: any CommandRunning, crypto: any CryptoLoading,
    hostName: String, log: Logger
  ) {
    self.clock = clock
    self.background = background
    self.queries = queries
    self.http = http
    self.commands = commands
    self.crypto = crypto
    self.hostName = hostName
    self.log = log
  }
}

// MARK: Templates

extension UpstreamServices {
  func expand(
    _ template: Template, _ user: UnixUser, _ key: String
  ) throws(InvalidInput) -> String {
    do {
      return try template.expand(user: user.name, uid: user.uid, host: hostName, encoding: .none)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }

  func expand(
    _ url: URLTemplate, _ user: UnixUser, _ key: String
  ) throws(InvalidInput) -> String {
    do {
      return try url.expand(user: user.name, uid: user.uid, host: hostName)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }
}
