/// What a change of its profile's configuration means for a session.
public enum ProfileChange: Sendable, Equatable {
  /// Nothing that the session holds depends on what changed.
  case nothingHeld
  /// The credentials are no longer what the profile would give: fetched anew. The user stays.
  case credentials
  /// The user would be another one, or known by other means: the session begins anew.
  case identity
}

extension Profile {
  /// What decides which identity a user has.
  private struct IdentityMarks: Equatable {
    let identityPoolID: String
    let developerProvider: String?
    let userIdentifier: Template
    let backend: String?
    let backendType: BackendType?
    let tokenFile: String?
    let plan: SessionPlan
  }

  /// What decides which credentials an identity gets.
  private struct CredentialMarks: Equatable {
    let flow: ProfileSettings.Flow
    let roleARN: String?
    let roleSessionName: Template
    let duration: Duration
    let policyFile: String?
    let policyARNs: [String]
  }

  /// What a session of this profile may keep when the profile is `next` from now on.
  public func change(to next: Profile) -> ProfileChange {
    if identityMarks != next.identityMarks { return .identity }
    return credentialMarks == next.credentialMarks ? .nothingHeld : .credentials
  }

  private var identityMarks: IdentityMarks {
    // These two decide about the next call, not about whom it is for.
    var plan = plan
    plan.flow = .enhanced
    plan.developerLoginKey = ""
    return IdentityMarks(
      identityPoolID: settings.identityPoolID, developerProvider: settings.developerProvider,
      userIdentifier: settings.userIdentifier, backend: settings.backend,
      backendType: backend?.type, tokenFile: settings.webIdentityTokenFile, plan: plan)
  }

  private var credentialMarks: CredentialMarks {
    CredentialMarks(
      flow: settings.flow, roleARN: settings.roleARN, roleSessionName: settings.roleSessionName,
      duration: settings.duration, policyFile: settings.policyFile,
      policyARNs: settings.policyARNs)
  }
}
