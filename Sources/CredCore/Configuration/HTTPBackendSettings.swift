/// A backend of type `http`.
public struct HTTPBackendSettings: Sendable, Equatable {
  public enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  /// A header sent with every callback. Its value may be a key, so it is kept as a secret.
  public struct Header: Sendable, Equatable {
    public var name: String
    public var value: Secret

    public init(name: String, value: Secret) {
      self.name = name
      self.value = value
    }
  }

  public var url: URLTemplate
  public var method = Method.post
  /// Its content goes into `Authorization: Bearer`.
  public var bearerTokenFile: String?
  /// PEM file of the authorities trusted instead of the system's.
  public var caFile: String?
  /// PEM file; the key may be in it.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Path of the socket to connect to instead of the URL's host.
  public var unixSocket: String?
  /// In the order of the file; no name twice, whatever its case.
  public var headers: [Header] = []
  /// Where users sign in with a password; nil if the backend trusts the host.
  public var loginURL: URLTemplate?
  /// What `logout` with `global` calls.
  public var logoutURL: URLTemplate?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init(url: URLTemplate) {
    self.url = url
  }
}
