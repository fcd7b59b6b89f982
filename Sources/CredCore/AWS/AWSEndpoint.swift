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
  /// - Throws: where the URL is none, or has a query.
  public init(_ service: Service, region: String, custom: String) throws(InvalidInput) {
    guard let url = try? HTTPURL(custom), url.query == nil else {
      throw InvalidInput(field: "endpoint", reason: "is not an http:// or https:// URL")
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

/// A family of regions with DNS names of its own (botocore, `partitions.json`).
public enum AWSPartition: String, Sendable, CaseIterable {
  case aws = "aws"
  case china = "aws-cn"
  case usGov = "aws-us-gov"
  case europeanSovereign = "aws-eusc"
  case iso = "aws-iso"
  case isoB = "aws-iso-b"
  case isoE = "aws-iso-e"
  case isoF = "aws-iso-f"

  /// The partition of a region; a region nobody has heard of yet belongs to `aws`, as in the SDKs.
  public init(region: String) {
    let prefixes: [(String, AWSPartition)] = [
      ("cn-", .china), ("us-gov-", .usGov), ("eusc-", .europeanSovereign), ("us-isob-", .isoB),
      ("us-isof-", .isoF), ("us-iso-", .iso), ("eu-isoe-", .isoE),
    ]
    self = prefixes.first { region.hasPrefix($0.0) }?.1 ?? .aws
  }

  /// What follows `service.region.` in a host name.
  public var dnsSuffix: String {
    switch self {
    case .aws, .usGov: "amazonaws.com"
    case .china: "amazonaws.com.cn"
    case .europeanSovereign: "amazonaws.eu"
    case .iso: "c2s.ic.gov"
    case .isoB: "sc2s.sgov.gov"
    case .isoE: "cloud.adc-e.uk"
    case .isoF: "csp.hci.ic.gov"
    }
  }

  /// The same for hosts that also have IPv6 addresses.
  public var dualStackDNSSuffix: String {
    switch self {
    case .aws, .usGov: "api.aws"
    case .china: "api.amazonwebservices.com.cn"
    case .europeanSovereign: "api.amazonwebservices.eu"
    case .iso: "api.aws.ic.gov"
    case .isoB: "api.aws.scloud"
    case .isoE: "api.cloud-aws.adc-e.uk"
    case .isoF: "api.aws.hci.ic.gov"
    }
  }
}

extension AWSPartition {
  /// The key under which a developer token stands in the logins map of the enhanced flow.
  ///
  /// It is the principal that a role trusts in that region. Only that of `aws` is in Cognito's API
  /// reference; those of China and GovCloud are in use in public, and the rest follow their rule.
  /// A profile can set its own (`logins_key`).
  public static func loginsKey(region: String) -> String {
    let partition = AWSPartition(region: region)
    if partition == .aws { return "cognito-identity.amazonaws.com" }
    // The first region of GovCloud was given a name before there was a rule.
    if region == "us-gov-west-1" { return "cognito-identity-us-gov.amazonaws.com" }
    return "cognito-identity.\(region).\(partition.dnsSuffix)"
  }
}
