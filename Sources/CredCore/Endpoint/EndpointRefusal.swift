/// A refusal of the endpoint before the profile is looked up. Each is cheap to make, because some
/// SDKs repeat a refused request three times. Metrics use the raw values.
public enum EndpointRefusal: String, Error, Sendable, CaseIterable {
  // The form.
  case notARequest = "not_a_request"
  case version
  case method
  /// HEAD is refused like every other method, but the answer has no body.
  case head
  case target
  case headTooLong = "head_too_long"
  case tooManyFields = "too_many_fields"
  case lineEnd = "line_end"
  case controlByte = "control_byte"
  case field
  case host
  case authorization
  case body
  case expectation
  case headTooSlow = "head_too_slow"
  // The sender.
  case notAnSDK = "not_an_sdk"
  case notAttested = "not_attested"
  case unknownPath = "unknown_path"
  case token
  case tooManyConnections = "too_many_connections"

  public var status: EndpointStatus {
    switch self {
    case .method, .head: .methodNotAllowed
    case .notAnSDK, .notAttested: .forbidden
    case .unknownPath: .notFound
    case .token: .unauthorized
    case .tooManyConnections: .tooManyRequests
    default: .badRequest
    }
  }

  /// One line that says what to do. It quotes nothing of the request.
  public var message: String {
    switch self {
    case .notARequest: "this port takes only HTTP/1.1 requests, in the form GET /PATH HTTP/1.1"
    case .version: "this endpoint speaks HTTP/1.1 alone"
    case .method, .head: "this endpoint takes GET alone"
    case .target: "the target of the request must be a path of printable ASCII characters"
    case .headTooLong:
      "the head of a request must not be longer than \(Limits.Endpoint.headBytes) bytes"
    case .tooManyFields:
      "a request must not have more than \(Limits.Endpoint.fields) header fields"
    case .lineEnd: "each line of the head must end with CR and LF"
    case .controlByte: "the head of a request must not contain control characters"
    case .field: "a header field must be a name, a colon and a value on one line"
    case .host: "a request must have exactly one Host"
    case .authorization: "a request must not have more than one Authorization"
    case .body: "a request must not have a body"
    case .expectation: "a request must not have Expect"
    case .headTooSlow: "the head of the request did not arrive in time"
    case .notAnSDK:
      "refused: the request went through a browser or a proxy, or its Host is not the literal "
        + "address of this endpoint; use the URL as credctl endpoint prints it, and set "
        + "no_proxy=127.0.0.1"
    case .notAttested:
      "refused: the kernel did not say which user made this connection; connect from this host, "
        + "and keep the connection open in both directions"
    case .unknownPath: "there is nothing at this path; credentials are at /credentials/PROFILE"
    case .token:
      "the Authorization token is missing, or was not given to this user or unit for this "
        + "profile; tokens end with the next boot and when the token key is removed: restart the "
        + "unit, or run credctl endpoint again"
    case .tooManyConnections:
      "this user has too many connections to the endpoint: more than "
        + "\(Limits.Endpoint.connectionsPerUser)"
    }
  }

  /// The name of the error in the answer.
  var code: String {
    switch status {
    case .forbidden: "AccessDenied"
    case .unauthorized: "TokenRejected"
    case .tooManyRequests: "TooManyRequests"
    default: "InvalidRequest"
    }
  }
}
