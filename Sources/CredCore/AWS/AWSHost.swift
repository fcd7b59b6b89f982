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
