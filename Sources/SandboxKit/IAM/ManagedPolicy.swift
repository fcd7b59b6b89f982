/// AWS's own policies, as far as the sandbox knows them.
enum ManagedPolicy {
  private static let actions: [String: [String]] = [
    "AdministratorAccess": ["*"],
    "AmazonS3ReadOnlyAccess": ["s3:Get*", "s3:List*"],
    "ReadOnlyAccess": ["s3:Get*", "s3:List*", "sts:Get*"],
  ]

  static func document(_ arn: String) throws(ServiceError) -> PolicyDocument {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0] == "arn", parts[2] == "iam", parts[5].hasPrefix("policy/")
    else { throw ServiceError("ValidationError", "\(arn) is invalid") }
    guard parts[4] == "aws", let actions = actions[String(parts[5].dropFirst("policy/".count))]
    else { throw ServiceError("ValidationError", "The sandbox does not know the policy \(arn).") }
    return .allowing(actions)
  }

  /// Cognito narrows guests of the enhanced flow with AmazonCognitoUnAuthedIdentitiesSessionPolicy. Of
  /// its list these are the first; it has no action of S3 or STS.
  static let guests = PolicyDocument.allowing([
    "rum:PutRumEvents", "sagemaker:InvokeEndpoint", "polly:*", "comprehend:*", "translate:*",
    "transcribe:*", "rekognition:*", "mobiletargeting:*", "firehose:*", "personalize:*",
    "kms:Encrypt", "kms:Decrypt",
  ])
}
