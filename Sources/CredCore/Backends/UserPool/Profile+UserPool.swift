/// The user pool of a profile: of its backend, or of the linked backend.
extension Profile {
  /// The settings of the user pool; nil with another backend.
  var userPool: UserPoolSettings? { backend?.kind as? UserPoolSettings }

  /// The profile with the user pool at which users sign in with a name: this profile, or the linked
  /// profile. Nil if the backend takes the passwords, or if there are no sign-ins with passwords.
  public var poolProfile: Profile? {
    let candidate = plan.backend == .password ? self : signInProfile
    return candidate.userPool == nil ? nil : candidate
  }

  /// The app client of the profile's user pool; nil with another backend.
  ///
  /// - Parameters:
  ///   - secret: the content of `client_secret_file`, which is read for each call.
  ///   - place: where its requests go.
  /// - Throws: if Cognito would refuse the secret.
  public func userPoolClient(
    secret: Secret?, at place: PoolPlace = .primary
  ) throws(InvalidInput) -> UserPoolClient? {
    guard let backend, let userPool, let issuer = plan.backend.issuer, let pool = issuer.pool else {
      return nil
    }
    let client = try UserPoolClient(
      backend: backend.name, host: userPool.host(in: settings), pool: pool,
      id: issuer.clientID, secret: secret)
    guard place == .replica, let replica = try userPool.replicaHost(in: settings) else {
      return client
    }
    return client.asking(replica)
  }

  /// The URL of the replica of the profile's user pool; nil without one.
  public var replicaURL: String? {
    guard let userPool else { return nil }
    return try? userPool.replicaHost(in: settings)?.url
  }

  /// The plan of conversations with the profile's user pool; nil without a pool.
  public var conversationPlan: PoolConversation.Plan? {
    guard let backend, let userPool, let issuer = plan.backend.issuer else { return nil }
    return PoolConversation.Plan(
      backend: backend.name, issuer: issuer, flow: userPool.authFlow,
      rememberDevice: userPool.rememberDevice)
  }

  /// Why clients may send nothing for the triggers of a user pool at a sign-in; nil if they may.
  public var refusalOfMetadata: ProtocolError? { refusalOfMetadata(at: poolProfile?.userPool) }

  /// - Parameter pool: that would get it; nil for another backend.
  func refusalOfMetadata(at pool: UserPoolSettings?) -> ProtocolError? {
    guard let userPool = pool else {
      return ProtocolError(
        .invalidRequest,
        "\"client_metadata\" and \"validation_data\" are for user pools, and profile "
          + "'\(settings.name)' has none")
    }
    guard !userPool.takesClientMetadata else { return nil }
    return ProtocolError(
      .invalidRequest,
      "profile '\(settings.name)' takes no \"client_metadata\" and no \"validation_data\": its "
        + "backend has client_metadata = no")
  }
}
