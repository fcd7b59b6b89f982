/// What a session's plan answers by its way.
extension SessionPlan {
  /// Unauthenticated identities are allowed.
  public var allowsGuests: Bool {
    if case .pool(let plan) = way { plan.allowsGuests } else { false }
  }

  /// The key of a developer token in `Logins`; it depends on the partition.
  public var developerLoginKey: String {
    if case .pool(let plan) = way {
      plan.developerLoginKey
    } else {
      AWSPartition.loginsKey(region: "")
    }
  }

  /// The provider whose sign-ins are linked to the user of the backend; nil without such a provider.
  public var link: ProviderIssuer? { if case .pool(let plan) = way { plan.link } else { nil } }

  /// Nil for a profile with an identity of its own.
  public var derived: DerivedPlan? { if case .derived(let plan) = way { plan } else { nil } }

  /// What sessions hold, and are renewed for.
  public var product: Product { if case .tokens = way { .tokens } else { .credentials } }

  /// Whether sessions follow the sign-in of another one.
  var followsSource: Bool { if case .derived = way { true } else { false } }
}
