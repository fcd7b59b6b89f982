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
