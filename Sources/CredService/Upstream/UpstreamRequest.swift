import CredCore

/// A request to an upstream: how it is sent, and what of it no text may show.
struct UpstreamRequest {
  let http: HTTPRequest
  let settings: HTTPSettings
  let upstream: Upstream
  /// The secrets in the body and the URL: they are hidden in texts of the reply. Headers are hidden
  /// too.
  let secrets: [Secret]
  /// Names of the configuration that texts of the reply may show: see ``SentSecrets``.
  var names: [String] = []
  /// The name in metrics; nil for a part of a session's call, which is counted as a whole.
  let operation: String?
  /// Whether the clock may trust the server's time: only servers of AWS.
  var tellsTime: Bool

  init(
    _ http: HTTPRequest, _ settings: HTTPSettings, to upstream: Upstream, secrets: [Secret] = [],
    operation: String? = nil
  ) {
    self.http = http
    self.settings = settings
    self.upstream = upstream
    self.secrets = secrets
    self.operation = operation
    tellsTime =
      switch upstream {
      case .cognitoIdentity, .sts: true
      case .backend: false
      }
  }
}
