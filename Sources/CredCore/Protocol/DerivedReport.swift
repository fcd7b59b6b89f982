/// What replies say of a derived or direct profile and of its session.
public struct DerivedReport: Sendable, Equatable {
  /// The profile from which it is derived; nil where the caller may not know it.
  public var source: String?
  /// The name of the policy's file, without its folder.
  public var policy: String?
  public var roleARN: String?
  /// SHA-256 of the policy that was sent, in hexadecimal digits.
  public var policySHA256: String?
  /// How full the session token is, in percent.
  public var tokenUtilization: Int?
}

extension DerivedReport {
  /// Nil for a profile of an identity pool, and for one of tokens alone.
  ///
  /// - Parameter mayName: whether the reader may know a profile.
  public init?(
    _ profile: Profile, holding credentials: Credentials? = nil,
    naming mayName: (_ profile: String) -> Bool = { _ in true }
  ) {
    guard let report = profile.kind.report(credentials, naming: mayName) else { return nil }
    self = report
  }
}

extension JSONWriter {
  mutating func append(_ derived: DerivedReport?) {
    guard let derived else { return }
    field("Source", derived.source)
    field("Policy", derived.policy)
    field("PolicySha256", derived.policySHA256)
    field("RoleArn", derived.roleARN)
    field("TokenUtilization", derived.tokenUtilization.map { Int64($0) })
  }
}
