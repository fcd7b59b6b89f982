internal import CredCore

extension HTTPBackendSettings {
  func httpSettings(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.backendReplyBytes)
    settings.caFile = caFile
    settings.clientCertificate = clientCertificate
    settings.clientKey = clientKey
    settings.unixSocket = unixSocket
    return settings
  }

  func checkedHeaders() throws(InvalidInput) -> [HTTPHeader] {
    var checked: [HTTPHeader] = []
    for header in headers {
      checked.append(try HTTPHeader(checkingName: header.name, value: header.value))
    }
    return checked
  }
}
