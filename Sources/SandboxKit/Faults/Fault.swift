/// The services that faults and counters tell apart.
enum Service: String, Sendable, CaseIterable {
  case backend, cognito, sts, sample
}

/// One call: the unit of counting and of faults.
struct ServiceCall: Hashable, Sendable {
  var service: Service
  /// As the service names it: `GetId`, `AssumeRoleWithWebIdentity`, `token`, `gettoken`.
  var operation: String

  /// `cognito.GetId`.
  var name: String { service.rawValue + "." + operation }
}

/// Something that goes wrong on purpose.
struct Fault: Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    /// The reply comes `Seconds` late.
    case delay
    /// No reply ever; the connection stays open.
    case hang
    /// `Status` with `Body`, or the service's own form of `Error` and `Message`.
    case status
    /// The service's way to say "slow down".
    case throttle
    /// The connection is reset instead of a reply.
    case reset
    /// Half of the body, then the connection is closed.
    case truncate
    /// A body of 8 MiB.
    case oversize
    /// 200 with broken JSON or XML.
    case malformed
    /// 200 with a web page, as a captive portal answers.
    case html
    /// `Location`, with `Status` or 302.
    case redirect
    /// The clock of the service is `Seconds` off.
    case dateSkew
    /// A token that has expired: handed out by a backend, complained of by AWS.
    case expiredToken
    /// Another identity than before.
    case changedIdentity
    /// For another pool than was asked for.
    case wrongPool
  }

  var service: Service
  /// nil: any.
  var operation: String?
  var kind: Kind
  /// How many calls it hits; nil: all until it is cleared.
  var count: Int? = 1
  var seconds = 0.0
  var status: Int?
  var body: String?
  var error: String?
  var message: String?
  var retryAfter: String?
  var location: String?

  func hits(_ call: ServiceCall) -> Bool {
    service == call.service && (operation == nil || operation == call.operation)
  }
}
