extension HTTPRequest {
  /// Whether the request goes to a loopback address, and so never leaves this host.
  public var staysOnHost: Bool {
    (try? ConfiguredURL(url))?.isLoopback ?? false
  }
}
