import CredCore
import SeededRandom

/// Every failure that the documents of AWS name, as replies: what credd makes of each, its table of
/// failures says, of which a test finds each row here.
public enum HistoryFailures {
  /// An error by its name, and a part of its message where the name means several things.
  public typealias Error = (name: String, message: String)

  private static let refusals = [
    "Token expired", "Couldn't verify signed token", "Not a Cognito token",
    "Can't pass in a Cognito token", "Access to Role", "Access to Identity", "Logins don't match",
    "Issuer doesn't match providerName", "Unauthenticated access is not supported",
    "ambiguous role mapping", "",
  ]

  /// Of Cognito's identity pools.
  public static let cognito: [Error] =
    refusals.map { ("NotAuthorizedException", $0) }
    + [
      "ResourceNotFoundException", "ValidationException", "ResourceConflictException",
      "DeveloperUserAlreadyRegisteredException", "InvalidIdentityPoolConfigurationException",
      "ExternalServiceException", "ConcurrentModificationException", "InvalidParameterException",
    ].map { ($0, "") }
    + anyService

  public static let sts: [Error] =
    [
      "ExpiredTokenException", "InvalidIdentityToken", "IDPCommunicationError", "IDPRejectedClaim",
      "AccessDenied", "MalformedPolicyDocument", "PackedPolicyTooLarge", "RegionDisabledException",
      "ValidationError",
    ].map { ($0, "") } + [("ValidationError", "DurationSeconds")] + anyService

  /// Of what developer credentials sign.
  public static let signature: [Error] =
    [
      "ExpiredTokenException", "ExpiredToken", "InvalidSignatureException", "SignatureDoesNotMatch",
      "RequestExpired", "UnrecognizedClientException", "InvalidClientTokenId", "OptInRequired",
      "AccessDeniedException", "MissingAuthenticationTokenException", "MissingAuthenticationToken",
      "IncompleteSignatureException", "IncompleteSignature",
    ].map { ($0, "") }
    + ["InvalidSignatureException", "SignatureDoesNotMatch"].flatMap { name in
      ["Signature expired", "Signature not yet current"].map { (name, $0) }
    }

  public static let anyService: [Error] = [
    "TooManyRequestsException", "LimitExceededException", "ThrottlingException", "Throttling",
    "RequestLimitExceeded", "ServiceUnavailableException", "ServiceUnavailable",
    "InternalErrorException", "InternalFailure", "NewException",
  ].map { ($0, "") }

  private static let statuses = [
    301, 400, 401, 403, 404, 407, 408, 409, 429, 500, 502, 503, 511,
  ]
  private static let unusable = [
    "<!DOCTYPE html><html></html>", "{}", "{\"IdentityId\":",
  ].map { HTTPReply.plain(200, $0) }

  private static let anyReply = statuses.map { HTTPReply.plain($0, "") } + unusable
  private static let cognitoReplies =
    anyReply + (cognito + signature).map { HTTPReply.cognito($0.message, $0.name) }
  private static let stsReplies = anyReply + sts.map { HTTPReply.sts($0.name, $0.message) }

  /// A failure of the upstream that a request goes to.
  static func reply(to request: HTTPRequest, _ random: inout SeededGenerator) -> HTTPReply {
    guard request.isToAWS else { return random.pick(anyReply) }
    return random.pick(request.isToSTS ? stsReplies : cognitoReplies)
  }
}
