extension Operation {
  init(_ object: RequestObject) throws(ProtocolError) {
    switch try object.operation() {
    case .get: self = .get(try GetRequest(object))
    case .token: self = .token(try TokenRequest(object))
    case .identity: self = .identity(profile: try object.profile())
    case .login: self = .login(try LoginRequest(object))
    case .logout:
      self = .logout(profile: try object.profile(), global: try object.flag("global"))
    case .clear: self = .clear(profile: try object.profile(), try ClearScope(object))
    case .release: self = .release(profile: try object.profile())
    case .status: self = .status(all: try object.flag("all"))
    case .watch: self = .watch(profile: object["profile"] == nil ? nil : try object.profile())
    case .ping: self = .ping
    }
  }
}

extension GetRequest {
  fileprivate init(_ object: RequestObject) throws(ProtocolError) {
    self.init(
      profile: try object.profile(),
      minTTL: try object.seconds("min_ttl", upTo: Limits.longestLifetimeSeconds),
      refresh: try object.flag("refresh"),
      wait: try object.seconds("wait", upTo: Limits.longestWaitSeconds) ?? Limits.defaultWait,
      user: try object.user())
  }
}

extension TokenRequest {
  fileprivate init(_ object: RequestObject) throws(ProtocolError) {
    self.init(
      profile: try object.profile(),
      minTTL: try object.seconds("min_ttl", upTo: Limits.longestLifetimeSeconds),
      wait: try object.seconds("wait", upTo: Limits.longestWaitSeconds) ?? Limits.defaultWait)
  }
}

extension ClearScope {
  fileprivate init(_ object: RequestObject) throws(ProtocolError) {
    guard let scope = ClearScope(rawValue: try object.text("what") ?? "") else {
      throw .invalid(#""what" must be "credentials" or "identity""#)
    }
    self = scope
  }
}
