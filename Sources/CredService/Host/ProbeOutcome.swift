package import CredCore

/// Whether a server answers that a profile's sign-ins and renewals need.
package struct ProbeOutcome: Sendable {
  package let name: String
  /// The URL that was asked.
  package let url: String
  /// Whether it is a server of AWS, whose clock is right.
  package let isOfAWS: Bool
  package let trial: Trial
  package let duration: Duration
  package let result: Result<Answer, UpstreamFailure>

  package enum Trial: Sendable {
    /// The server's answer was read, and fits.
    case answer
    /// The server can be reached.
    case server
    /// The same, and the path of its calls was not tried.
    case serverWithoutPath
  }

  package struct Answer: Sendable {
    package let status: Int
    package let connection: HTTPConnection?
    /// How far the server's clock is ahead of this host's; nil if the server gives no time.
    package let clockDifference: Duration?
  }
}

extension ProbeOutcome {
  /// How far the server's clock is ahead of this host's; nil if that is not known.
  var clockDifference: Duration? { (try? result.get())?.clockDifference }
}
