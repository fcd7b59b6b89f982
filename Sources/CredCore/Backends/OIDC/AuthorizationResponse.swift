/// The parameters that a browser brought to the redirect URI. They are checked in an order that
/// shows a mistake or an attack: the sign-in they belong to, the provider that answers, an error,
/// the code.
public enum AuthorizationResponse: Sendable, Equatable {
  /// The response belongs to another sign-in: another tab's, an older one, or a stranger's. The
  /// sign-in goes on.
  case foreign(reason: String)
  /// The response ends the sign-in.
  case failed(UpstreamFailure)
  case code(Secret)

  /// - Parameters:
  ///   - query: the query as it came, without `?`.
  ///   - state: the state of this sign-in.
  ///   - provider: the provider that must answer.
  public static func judge(
    _ query: Secret, state: Secret, from provider: ProviderMetadata, for backend: String
  ) -> AuthorizationResponse {
    guard let parameters = Parameters(query) else {
      return .foreign(reason: "is no query of at most \(Limits.OIDC.responseBytes) bytes")
    }
    let states = parameters["state"]
    guard let given = states.first else { return .foreign(reason: "has no state") }
    guard states.count == 1 else { return .foreign(reason: "has more than one state") }
    guard state.isSame(as: given) else { return .foreign(reason: "belongs to another sign-in") }
    let upstream = Upstream.backend(backend)
    do throws(UpstreamFailure) {
      try checkIssuer(parameters["iss"], provider, upstream)
      try checkError(parameters, hiding: state, upstream)
      return .code(try soleCode(parameters["code"], upstream))
    } catch {
      return .failed(error)
    }
  }

  /// RFC 9207, 2.4: protects against a provider that answers in place of another one.
  private static func checkIssuer(
    _ values: [[UInt8]], _ provider: ProviderMetadata, _ upstream: Upstream
  ) throws(UpstreamFailure) {
    guard values.count <= 1 else { throw unusable("has more than one iss", upstream) }
    guard let issuer = values.first else {
      guard !provider.sendsIssuer else {
        throw unusable("has no iss, which the provider announces", upstream)
      }
      return
    }
    guard String(validating: issuer, as: UTF8.self).map(provider.issuer.isEqual) ?? false else {
      let shown = RemoteText.plain(issuer) ?? ""
      throw unusable(
        "is from issuer \(shown.quoted), not from \(provider.issuer.description.quoted)", upstream)
    }
  }

  private static func checkError(
    _ parameters: Parameters, hiding state: Secret, _ upstream: Upstream
  ) throws(UpstreamFailure) {
    let errors = parameters["error"]
    guard errors.count <= 1 else { throw unusable("has more than one error", upstream) }
    guard let name = errors.first else { return }
    let error = OAuthError(
      name: name, description: parameters["error_description"].first,
      hiding: SentSecrets([state]))
    throw .authorization(error, from: upstream)
  }

  private static func soleCode(
    _ values: [[UInt8]], _ upstream: Upstream
  ) throws(UpstreamFailure) -> Secret {
    guard let code = values.first else {
      throw unusable("has neither a code nor an error", upstream)
    }
    guard values.count == 1 else { throw unusable("has more than one code", upstream) }
    if let flaw = code.flaw(upTo: Limits.OIDC.codeBytes, where: { (0x20...0x7E).contains($0) }) {
      throw unusable("has a code that \(flaw)", upstream)
    }
    return Secret(code)
  }

  private static func unusable(_ reason: String, _ upstream: Upstream) -> UpstreamFailure {
    UpstreamFailure(
      upstream, FailureTable.unusableResponse, said: "the browser's response \(reason)")
  }
}

/// A decoded query. Names are decoded too: `%73tate` is a `state`.
private struct Parameters {
  private let pairs: [(name: [UInt8], value: [UInt8])]

  /// Returns nil if the text is too long or no query.
  init?(_ query: Secret) {
    guard query.count <= Limits.OIDC.responseBytes, query.bytes.allSatisfy(\.isVisible) else {
      return nil
    }
    let parts = query.bytes.split(separator: UInt8(ascii: "&"))
    guard parts.count <= Limits.OIDC.responseParameters else { return nil }
    var pairs: [(name: [UInt8], value: [UInt8])] = []
    for part in parts {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard let decodedName = PercentEncoding.decodeForm(name),
        let value = PercentEncoding.decodeForm(part.dropFirst(name.count + 1))
      else { return nil }
      pairs.append((decodedName, value))
    }
    self.pairs = pairs
  }

  /// All values of that name.
  subscript(_ name: String) -> [[UInt8]] {
    pairs.filter { $0.name.elementsEqual(name.utf8) }.map(\.value)
  }
}
