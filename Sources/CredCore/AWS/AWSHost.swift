/// The URL of an AWS service, by the endpoint rule sets that the SDKs share (botocore,
/// `endpoint-rule-set-1.json` of `cognito-identity`, `cognito-idp` and `sts`).
public struct AWSHost: Sendable, Hashable {
  public enum Service: String, Sendable {
    case cognitoIdentity = "cognito-identity"
    case cognitoUserPools = "cognito-idp"
    case sts = "sts"
  }

  public let service: Service
  /// The region in signatures.
  public let region: String
  /// `scheme://host[:port]/[path]`.
  public let url: String

  /// - Parameter region: a region such as `eu-west-1`. It becomes part of a host name.
  /// - Throws: if the region is not letters, digits and hyphens.
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

  /// A host that the operator chose, such as an emulator or a proxy.
  ///
  /// - Throws: if the text is no URL or has a query.
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
    case (.cognitoIdentity, true, true), (.cognitoUserPools, true, true):
      // In these regions the FIPS host has IPv6 addresses too.
      let plainIsDual = ["us-east-1", "us-east-2", "us-west-1", "us-west-2"].contains(region)
      return "\(service.rawValue)-fips.\(plainIsDual ? plain : dual)"
    case (.cognitoIdentity, true, false), (.cognitoUserPools, true, false):
      return "\(service.rawValue)-fips.\(plain)"
    case (.cognitoIdentity, false, true), (.cognitoUserPools, false, true):
      return "\(service.rawValue).\(partition == .aws ? plain : dual)"
    case (.sts, true, true): return "sts-fips.\(dual)"
    // Every host of GovCloud's STS is a FIPS host.
    case (.sts, true, false): return "\(partition == .usGov ? "sts" : "sts-fips").\(plain)"
    case (_, false, true): return "\(service.rawValue).\(dual)"
    case (_, false, false): return "\(service.rawValue).\(plain)"
    }
  }
}

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
  /// It is the principal that a role trusts in that region. Cognito's API reference has only the
  /// key of `aws`. Those of China and GovCloud are in public use, and the others follow the same
  /// rule. A profile can set its own key (`logins_key`).
  public static func loginsKey(region: String) -> String {
    let partition = AWSPartition(region: region)
    if partition == .aws { return "cognito-identity.amazonaws.com" }
    // The first region of GovCloud has a name that is older than the rule.
    if region == "us-gov-west-1" { return "cognito-identity-us-gov.amazonaws.com" }
    return "cognito-identity.\(region).\(partition.dnsSuffix)"
  }
}

extension AWSHost {
  /// A request of the protocol JSON 1.1 (AWS API reference): POST, with the operation in a header.
  ///
  /// - Parameters:
  ///   - target: the service's name in that header, and the operation.
  ///   - members: writes the members of the body's object.
  public func request(_ target: String, _ members: (inout JSONWriter) -> Void) -> HTTPRequest {
    var writer = JSONWriter(capacity: 4096)
    writer.beginObject()
    members(&writer)
    writer.endObject()
    return HTTPRequest(
      method: .post, url: url,
      headers: [
        HTTPHeader("Content-Type", "application/x-amz-json-1.1"),
        HTTPHeader("X-Amz-Target", target),
      ],
      body: Secret(writer.bytes))
  }
}
