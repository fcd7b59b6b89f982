import CredCore
import TestSupport
import Testing

/// The expected hosts are botocore 1.43's, from the endpoint rule sets of both services.
struct AWSEndpointTests {
  struct Row: Sendable {
    struct Flags: OptionSet, Sendable {
      let rawValue: Int
      static let fips = Flags(rawValue: 1)
      static let dualStack = Flags(rawValue: 2)
    }

    let region: String
    let flags: Flags
    let cognito: String
    let sts: String

    init(_ region: String, _ flags: Flags, _ cognito: String, _ sts: String) {
      self.region = region
      self.flags = flags
      self.cognito = cognito
      self.sts = sts
    }
  }

  static let rows: [Row] = [
    Row(
      "us-east-1", [],
      "cognito-identity.us-east-1.amazonaws.com",
      "sts.us-east-1.amazonaws.com"),
    Row(
      "us-east-1", [.dualStack],
      "cognito-identity.us-east-1.amazonaws.com",
      "sts.us-east-1.api.aws"),
    Row(
      "us-east-1", [.fips],
      "cognito-identity-fips.us-east-1.amazonaws.com",
      "sts-fips.us-east-1.amazonaws.com"),
    Row(
      "us-east-1", [.fips, .dualStack],
      "cognito-identity-fips.us-east-1.amazonaws.com",
      "sts-fips.us-east-1.api.aws"),
    Row(
      "eu-west-1", [],
      "cognito-identity.eu-west-1.amazonaws.com",
      "sts.eu-west-1.amazonaws.com"),
    Row(
      "eu-west-1", [.dualStack],
      "cognito-identity.eu-west-1.amazonaws.com",
      "sts.eu-west-1.api.aws"),
    Row(
      "eu-west-1", [.fips],
      "cognito-identity-fips.eu-west-1.amazonaws.com",
      "sts-fips.eu-west-1.amazonaws.com"),
    Row(
      "eu-west-1", [.fips, .dualStack],
      "cognito-identity-fips.eu-west-1.api.aws",
      "sts-fips.eu-west-1.api.aws"),
    Row(
      "xx-new-1", [],
      "cognito-identity.xx-new-1.amazonaws.com",
      "sts.xx-new-1.amazonaws.com"),
    Row(
      "xx-new-1", [.dualStack],
      "cognito-identity.xx-new-1.amazonaws.com",
      "sts.xx-new-1.api.aws"),
    Row(
      "xx-new-1", [.fips],
      "cognito-identity-fips.xx-new-1.amazonaws.com",
      "sts-fips.xx-new-1.amazonaws.com"),
    Row(
      "xx-new-1", [.fips, .dualStack],
      "cognito-identity-fips.xx-new-1.api.aws",
      "sts-fips.xx-new-1.api.aws"),
    Row(
      "cn-north-1", [],
      "cognito-identity.cn-north-1.amazonaws.com.cn",
      "sts.cn-north-1.amazonaws.com.cn"),
    Row(
      "cn-north-1", [.dualStack],
      "cognito-identity.cn-north-1.api.amazonwebservices.com.cn",
      "sts.cn-north-1.api.amazonwebservices.com.cn"),
    Row(
      "cn-north-1", [.fips],
      "cognito-identity-fips.cn-north-1.amazonaws.com.cn",
      "sts-fips.cn-north-1.amazonaws.com.cn"),
    Row(
      "cn-north-1", [.fips, .dualStack],
      "cognito-identity-fips.cn-north-1.api.amazonwebservices.com.cn",
      "sts-fips.cn-north-1.api.amazonwebservices.com.cn"),
    Row(
      "us-gov-west-1", [],
      "cognito-identity.us-gov-west-1.amazonaws.com",
      "sts.us-gov-west-1.amazonaws.com"),
    Row(
      "us-gov-west-1", [.dualStack],
      "cognito-identity.us-gov-west-1.api.aws",
      "sts.us-gov-west-1.api.aws"),
    Row(
      "us-gov-west-1", [.fips],
      "cognito-identity-fips.us-gov-west-1.amazonaws.com",
      "sts.us-gov-west-1.amazonaws.com"),
    Row(
      "us-gov-west-1", [.fips, .dualStack],
      "cognito-identity-fips.us-gov-west-1.api.aws",
      "sts-fips.us-gov-west-1.api.aws"),
    Row(
      "eusc-de-east-1", [],
      "cognito-identity.eusc-de-east-1.amazonaws.eu",
      "sts.eusc-de-east-1.amazonaws.eu"),
    Row(
      "eusc-de-east-1", [.dualStack],
      "cognito-identity.eusc-de-east-1.api.amazonwebservices.eu",
      "sts.eusc-de-east-1.api.amazonwebservices.eu"),
    Row(
      "eusc-de-east-1", [.fips],
      "cognito-identity-fips.eusc-de-east-1.amazonaws.eu",
      "sts-fips.eusc-de-east-1.amazonaws.eu"),
    Row(
      "eusc-de-east-1", [.fips, .dualStack],
      "cognito-identity-fips.eusc-de-east-1.api.amazonwebservices.eu",
      "sts-fips.eusc-de-east-1.api.amazonwebservices.eu"),
    Row(
      "us-iso-east-1", [],
      "cognito-identity.us-iso-east-1.c2s.ic.gov",
      "sts.us-iso-east-1.c2s.ic.gov"),
    Row(
      "us-iso-east-1", [.dualStack],
      "cognito-identity.us-iso-east-1.api.aws.ic.gov",
      "sts.us-iso-east-1.api.aws.ic.gov"),
    Row(
      "us-iso-east-1", [.fips],
      "cognito-identity-fips.us-iso-east-1.c2s.ic.gov",
      "sts-fips.us-iso-east-1.c2s.ic.gov"),
    Row(
      "us-iso-east-1", [.fips, .dualStack],
      "cognito-identity-fips.us-iso-east-1.api.aws.ic.gov",
      "sts-fips.us-iso-east-1.api.aws.ic.gov"),
    Row(
      "us-isob-east-1", [],
      "cognito-identity.us-isob-east-1.sc2s.sgov.gov",
      "sts.us-isob-east-1.sc2s.sgov.gov"),
    Row(
      "us-isob-east-1", [.dualStack],
      "cognito-identity.us-isob-east-1.api.aws.scloud",
      "sts.us-isob-east-1.api.aws.scloud"),
    Row(
      "us-isob-east-1", [.fips],
      "cognito-identity-fips.us-isob-east-1.sc2s.sgov.gov",
      "sts-fips.us-isob-east-1.sc2s.sgov.gov"),
    Row(
      "us-isob-east-1", [.fips, .dualStack],
      "cognito-identity-fips.us-isob-east-1.api.aws.scloud",
      "sts-fips.us-isob-east-1.api.aws.scloud"),
    Row(
      "eu-isoe-west-1", [],
      "cognito-identity.eu-isoe-west-1.cloud.adc-e.uk",
      "sts.eu-isoe-west-1.cloud.adc-e.uk"),
    Row(
      "eu-isoe-west-1", [.dualStack],
      "cognito-identity.eu-isoe-west-1.api.cloud-aws.adc-e.uk",
      "sts.eu-isoe-west-1.api.cloud-aws.adc-e.uk"),
    Row(
      "eu-isoe-west-1", [.fips],
      "cognito-identity-fips.eu-isoe-west-1.cloud.adc-e.uk",
      "sts-fips.eu-isoe-west-1.cloud.adc-e.uk"),
    Row(
      "eu-isoe-west-1", [.fips, .dualStack],
      "cognito-identity-fips.eu-isoe-west-1.api.cloud-aws.adc-e.uk",
      "sts-fips.eu-isoe-west-1.api.cloud-aws.adc-e.uk"),
    Row(
      "us-isof-south-1", [],
      "cognito-identity.us-isof-south-1.csp.hci.ic.gov",
      "sts.us-isof-south-1.csp.hci.ic.gov"),
    Row(
      "us-isof-south-1", [.dualStack],
      "cognito-identity.us-isof-south-1.api.aws.hci.ic.gov",
      "sts.us-isof-south-1.api.aws.hci.ic.gov"),
    Row(
      "us-isof-south-1", [.fips],
      "cognito-identity-fips.us-isof-south-1.csp.hci.ic.gov",
      "sts-fips.us-isof-south-1.csp.hci.ic.gov"),
    Row(
      "us-isof-south-1", [.fips, .dualStack],
      "cognito-identity-fips.us-isof-south-1.api.aws.hci.ic.gov",
      "sts-fips.us-isof-south-1.api.aws.hci.ic.gov"),
  ]

  @Test(arguments: rows)
  func resolvesAsTheSDKsDo(row: Row) throws {
    let (fips, dualStack) = (row.flags.contains(.fips), row.flags.contains(.dualStack))
    let cognito = try AWSHost(
      .cognitoIdentity, region: row.region, fips: fips, dualStack: dualStack)
    let sts = try AWSHost(.sts, region: row.region, fips: fips, dualStack: dualStack)
    expect(cognito.url, equals: "https://\(row.cognito)/")
    expect(sts.url, equals: "https://\(row.sts)/")
  }

  @Test func customEndpoint() throws {
    let endpoint = try AWSHost(
      .cognitoIdentity, region: "us-east-1", custom: "http://127.0.0.1:4599")
    expect(endpoint.url, equals: "http://127.0.0.1:4599/")
  }

  @Test(arguments: ["ftp://a", "127.0.0.1:4599", "http://", "http://u@h/", "http://h/?a=b", ""])
  func refusesAnInvalidURL(url: String) {
    #expect(throws: InvalidInput.self) {
      try AWSHost(.sts, region: "us-east-1", custom: url)
    }
  }

  @Test(arguments: ["", "US-EAST-1", "us-east-1.evil.example", "us_east", "-us", "us-", "a/b"])
  func refusesAnInvalidRegion(region: String) {
    #expect(throws: InvalidInput.self) { try AWSHost(.cognitoIdentity, region: region) }
  }

  @Test(arguments: [
    ("us-east-1", "cognito-identity.amazonaws.com"),
    ("eu-west-1", "cognito-identity.amazonaws.com"),
    ("cn-north-1", "cognito-identity.cn-north-1.amazonaws.com.cn"),
    ("us-gov-west-1", "cognito-identity-us-gov.amazonaws.com"),
    ("us-gov-east-1", "cognito-identity.us-gov-east-1.amazonaws.com"),
  ])
  func loginsKey(region: String, key: String) {
    expect(AWSPartition.loginsKey(region: region), equals: key)
  }
}
