/// Where a service of AWS is reached: its URL, following the endpoint rule sets that the SDKs share
/// (botocore, `endpoint-rule-set-1.json` of `cognito-identity` and `sts`).
public struct AWSEndpoint: Sendable, Hashable {
  public enum Service: String, Sendable {
    case cognitoIdentity = "cognito-identity"
    case sts = "sts"
  }

  public let service: Service
  /// The region requests are signed for.
  public let region: String
  /// `scheme://host[:port]/[path]`.
  public let url: String

  /// - Parameter region: such as `eu-west-1`; must be letters, digits and hyphens, since it
  ///   becomes part of a host name.
  public init(
    _ service: Service, region: String, fips: Bool = false, dualStack: Bool = false
  ) throws(InvalidInput) {
    guard IdentityPoolID.isRegion(region) else {
      throw InvalidInput(field: "region", reason: "is not a region")
    }
    self.service = service
    self.region = region
    self.url = "https://\(Self.host(service, region, fips: fips, dualStack: dualStack))/"
  }

  /// An endpoint of the operator's own, such as an emulator or a proxy.
  ///
  /// - Throws: also where FIPS or dualstack is asked for, which is AWS's rule: the operator's URL
  ///   already says which host is meant.
  public init(
    _ service: Service, region: String, custom: String, fips: Bool = false, dualStack: Bool = false
  ) throws(InvalidInput) {
    guard let parts = URLParts(custom), parts.query.isEmpty else {
      throw InvalidInput(field: "endpoint", reason: "is not an http:// or https:// URL")
    }
    guard !fips, !dualStack else {
      throw InvalidInput(field: "endpoint", reason: "cannot be combined with fips or dualstack")
    }
    self.service = service
    self.region = region
    self.url = custom.hasSuffix("/") ? custom : custom + "/"
  }

  private static func host(
    _ service: Service, _ region: String, fips: Bool, dualStack: Bool
  ) -> String {
    let partition = AWSPartition(region: region)
    let plain = "\(region).\(partition.dnsSuffix)"
    let dual = "\(region).\(partition.dualStackDNSSuffix)"
    switch (service, fips, dualStack) {
    case (.cognitoIdentity, true, true):
      // In these regions the FIPS host itself has IPv6 addresses.
      let plainIsDual = ["us-east-1", "us-east-2", "us-west-1", "us-west-2"].contains(region)
      return "cognito-identity-fips.\(plainIsDual ? plain : dual)"
    case (.cognitoIdentity, true, false): return "cognito-identity-fips.\(plain)"
    case (.cognitoIdentity, false, true):
      return "cognito-identity.\(partition == .aws ? plain : dual)"
    case (.sts, true, true): return "sts-fips.\(dual)"
    // Every host of GovCloud's STS is a FIPS host.
    case (.sts, true, false): return "\(partition == .usGov ? "sts" : "sts-fips").\(plain)"
    case (_, false, true): return "\(service.rawValue).\(dual)"
    case (_, false, false): return "\(service.rawValue).\(plain)"
    }
  }
}
