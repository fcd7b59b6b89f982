extension UserPoolSettings {
  /// Whether the configuration names a replica.
  var hasReplica: Bool { replicaRegion != nil || replicaEndpoint != nil }

  /// The host of the replica's API. The pool's id, its clients and their secrets are the same there.
  ///
  /// - Throws: for a region that the configuration reader has refused already.
  func replicaHost(in profile: ProfileSettings) throws(InvalidInput) -> AWSHost? {
    guard hasReplica else { return nil }
    let pool = try UserPoolID(userPoolID)
    let region = replicaRegion ?? pool.region
    if let replicaEndpoint {
      return try AWSHost(.cognitoUserPools, region: region, custom: replicaEndpoint.text)
    }
    return try AWSHost(
      .cognitoUserPools, region: region, fips: profile.fips, dualStack: profile.dualstack)
  }

  /// The replica's region for people to read; where it is not known, its host.
  public var replicaName: String? { replicaRegion ?? replicaEndpoint?.authority }

  /// Reports a replica that cannot be one.
  func checkReplica(_ section: INISection, _ reader: inout ConfigurationReader) {
    reader.refusePlainHTTP("replica_endpoint", replicaEndpoint, section, isAllowed: allowPlainHTTP)
    if let replicaEndpoint, isPrimary(replicaEndpoint) {
      reader.diagnostics.error(
        at: section.position(of: "replica_endpoint"),
        "replica_endpoint: is the server of the pool's own region; name the replica's")
    }
    // Requests to a server of one's own never go to AWS.
    if endpoint != nil { reader.require("replica_endpoint", with: "replica_region", section) }
    checkReplicaRegion(section, &reader)
  }

  private func isPrimary(_ url: HTTPURL) -> Bool {
    guard let pool = try? UserPoolID(userPoolID) else { return false }
    let own = endpoint ?? (try? HTTPURL(AWSHost(.cognitoUserPools, region: pool.region).url))
    return url.authority.lowercased() == own?.authority.lowercased()
  }

  private func checkReplicaRegion(_ section: INISection, _ reader: inout ConfigurationReader) {
    guard let replicaRegion, let primary = try? UserPoolID(userPoolID).region else { return }
    guard AWSPartition.knows(region: replicaRegion) else {
      return reader.diagnostics.error(
        at: section.position(of: "replica_region"),
        "replica_region: \(replicaRegion.singleQuoted) is no region of AWS that credd knows of"
          + AWSPartition.suggestion(region: replicaRegion))
    }
    guard replicaRegion != primary else {
      return reader.diagnostics.error(
        at: section.position(of: "replica_region"),
        "replica_region: \(primary.singleQuoted) is the pool's own region; name its replica's")
    }
    reader.refuse(
      replicaRegion, AWSPartition(region: replicaRegion).rawValue, primary,
      of: "the pool's region", at: "replica_region", section)
    reader.checkRegion(replicaRegion, at: "replica_region", unless: "replica_endpoint", section)
  }
}

extension BackendSettings {
  /// The replica for people to read: see ``UserPoolSettings/replicaName``. Nil for a backend without one.
  public var replicaName: String? { (kind as? UserPoolSettings)?.replicaName }
}

extension AccountInput {
  /// Whether a replica does it, as AWS's list of an active secondary says (developer guide,
  /// user-pool-multi-region). Everything else fails there with OperationNotEnabledException.
  public var isDoneByReplica: Bool {
    switch self {
    case .own(.get), .own(.devices): true
    default: false
    }
  }
}

extension PoolRequest {
  /// Whether a sign-in that begins with it may begin anew at the replica, after a request with an
  /// unknown outcome. A password would count as two guesses, because each region counts alone. A
  /// message would come twice.
  public var mayBeginTwice: Bool {
    guard case .initiate(let start, _, _, _) = self else { return false }
    return start.secrets.isEmpty && !maySendMessage
  }

  /// Whether it begins a sign-in.
  public var begins: Bool { if case .initiate = self { true } else { false } }
}

extension UpstreamFailure {
  /// Whether the server may be away: no reply came, it answered 5xx, or an outage is known. A refusal
  /// or a throttle comes from a server that is there.
  public var meansOutage: Bool {
    guard case .transient = failureClass else { return false }
    return isOutage || evidence != .none
  }

  /// The same of a replica, which may also be there and serve nobody yet.
  public var meansReplicaIsAway: Bool { meansOutage || reason == "OperationNotEnabledException" }

  /// Whether it is the word of a server that serves.
  public var isAnswer: Bool { detail != nil && !isWithheld && !meansReplicaIsAway }

  /// A replica's refusal as a temporary failure. The replica lags behind the primary, and may not know a
  /// token that the primary gave. Only the primary's refusal ends a session.
  public func ofReplica(_ name: String) -> UpstreamFailure {
    guard !failureClass.isTransient else { return self }
    return UpstreamFailure(
      upstream: upstream, failureClass: .transient(retryAfter: Self.replicaPause),
      code: .backendUnavailable,
      message: "the pool's primary region cannot be reached, and its replica \(name) does not take "
        + "the sign-in, which stays; it is tried again", severity: .expected)
  }

  private static let replicaPause = Duration.seconds(60)
}
