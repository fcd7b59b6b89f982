/// A group of regions with its own DNS names (botocore, `partitions.json`).
public enum AWSPartition: String, Sendable, CaseIterable {
  case aws = "aws"
  case china = "aws-cn"
  case usGov = "aws-us-gov"
  case europeanSovereign = "aws-eusc"
  case iso = "aws-iso"
  case isoB = "aws-iso-b"
  case isoE = "aws-iso-e"
  case isoF = "aws-iso-f"

  /// The partition of a region; an unknown region belongs to `aws`, as in the SDKs.
  public init(region: String) {
    let prefixes: [(String, AWSPartition)] = [
      ("cn-", .china), ("us-gov-", .usGov), ("eusc-", .europeanSovereign), ("us-isob-", .isoB),
      ("us-isof-", .isoF), ("us-iso-", .iso), ("eu-isoe-", .isoE),
    ]
    self = prefixes.first { region.hasPrefix($0.0) }?.1 ?? .aws
  }

  /// Whether the text looks like a region's name, by the pattern of its partition (botocore,
  /// `partitions.json`). Every region is named for a direction.
  public static func knows(region: String) -> Bool {
    guard AWSPartition(region: region) == .aws else { return true }
    let parts = region.split(separator: "-", omittingEmptySubsequences: false)
    return parts.count == 3 && areas.contains { $0 == parts[0] }
      && directions.contains { $0 == parts[1] }
      && !parts[2].isEmpty && parts[2].allSatisfy(\.isNumber)
  }

  /// `; did you mean 'eu-west-1'?` for a text that is no region's name.
  static func suggestion(region: String) -> String {
    NearestName.suggestion(
      region, in: areas.flatMap { area in directions.map { "\(area)-\($0)-1" } },
      otherwise: ", such as eu-west-1")
  }

  private static let areas = ["us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"]
  private static let directions = [
    "north", "south", "east", "west", "central", "northeast", "northwest", "southeast", "southwest",
  ]

  /// The host name after `service.region.`.
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

  /// Like ``dnsSuffix``, for hosts that have IPv6 addresses too.
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
  /// The developer token's key in the logins map of the enhanced flow.
  ///
  /// It is the principal that a role trusts in that region. Cognito's API reference has only the key of
  /// `aws`. The keys of China and GovCloud are in public use, and the other keys follow the same rule.
  /// A profile can set another key (`logins_key`).
  public static func loginsKey(region: String) -> String {
    let partition = AWSPartition(region: region)
    if partition == .aws { return "cognito-identity.amazonaws.com" }
    // The first region of GovCloud has a name that is older than the rule.
    if region == "us-gov-west-1" { return "cognito-identity-us-gov.amazonaws.com" }
    return "cognito-identity.\(region).\(partition.dnsSuffix)"
  }
}
