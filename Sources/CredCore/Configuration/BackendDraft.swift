/// A backend while its section is read: its type may stand below the keys that depend on it.
struct BackendDraft {
  var type: BackendType?
  var timeout = Duration.seconds(5)
  var maxParallel = 16
  var rateLimit = Rate.perSecond(50)
  var http = HTTPBackendSettings(url: URLTemplate(unread: ()))
  var exec = ExecBackendSettings(command: [])
  var cognito = CognitoBackendSettings()
  var awsSample = AWSSampleBackendSettings(url: ConfiguredURL(unread: ()))

  /// Nil without a type.
  func settings(name: String) -> BackendSettings? {
    let kind: BackendSettings.Kind
    switch type {
    case nil: return nil
    case .http: kind = .http(http)
    case .exec: kind = .exec(exec)
    case .cognito: kind = .cognito(cognito)
    case .awsSample: kind = .awsSample(awsSample)
    }
    var settings = BackendSettings(name: name, kind: kind)
    settings.timeout = timeout
    settings.maxParallel = maxParallel
    settings.rateLimit = rateLimit
    return settings
  }
}
