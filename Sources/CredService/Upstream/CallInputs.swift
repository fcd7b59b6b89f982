import CredCore

/// What was fetched for a call. A step of the call that asks for anything else names it in ``wanted``. The
/// step is prepared anew when that thing is there.
final class CallInputs {
  /// A thing that a step of a call needs.
  enum Want {
    case file(NamedFile)
    case crypto
    case signer(DeveloperCredentialsCache.Key, timeout: Duration)
    /// The discovery document at an issuer's address. The request takes a turn.
    case document(OIDCIssuer, Exchange<ProviderDiscovery.Known>)
    /// Work of milliseconds, for a thread.
    case assertion(@Sendable () -> Result<ClientAssertion, InvalidInput>)
    case proof(@Sendable () -> PoolProof.Result)
  }

  /// Where a call at a backend goes.
  let place: PoolPlace
  private(set) var wanted: Want?
  /// The contents of files; nil for a file that did not answer in time.
  var files: [NamedFile: FilesBeingRead.Content?] = [:]
  /// The library, once it was asked for; then nil if there is none.
  var crypto: (any Crypto)??
  var signer: Result<DeveloperCredentialsCache.Signer, UpstreamFailure>?
  var documents: [OIDCIssuer: Result<ProviderDiscovery.Known, UpstreamFailure>] = [:]
  /// The assertion, once it was asked for; then nil if the work is overdue.
  var assertion: Result<ClientAssertion, InvalidInput>??
  /// The same of a proof.
  var proof: PoolProof.Result??
  /// The provider, once it was found: it stays the same for all requests of a call.
  var provider: ProviderMetadata?

  init(at place: PoolPlace = .primary) { self.place = place }

  /// Forgets what was fetched, because a request that is made once more is prepared anew. A later step of
  /// the call may hold these inputs, so they stay the same object.
  func beginAnew() {
    (wanted, crypto, signer, assertion, proof, provider) = (nil, nil, nil, nil, nil, nil)
    files = [:]
    documents = [:]
  }

  private func want(_ want: Want) -> Unprepared {
    wanted = want
    return .wanting
  }

  // MARK: Files

  /// A small file that the configuration names. It may have been replaced since the last call.
  func file(
    _ path: String, as text: FileText, key: String, for upstream: Upstream
  ) throws(Unprepared) -> Secret {
    let file = NamedFile(path: path, key: key)
    guard let answer = files[file] else { throw want(.file(file)) }
    guard let content = answer else {
      let overdue = InvalidInput(field: key, reason: "\(path) does not answer")
      throw .failed(.overdueFile(overdue, to: upstream))
    }
    return try upstream.checked { () throws(InvalidInput) in
      try text.read(content.get(), path, as: key)
    }
  }

  /// The same; nil without a path.
  func file(
    ifNamed path: String?, as text: FileText, key: String, for upstream: Upstream
  ) throws(Unprepared) -> Secret? {
    guard let path else { return nil }
    return try file(path, as: text, key: key, for: upstream)
  }

  /// The values of headers or variables as their files hold them now.
  func values(
    of files: [ValueFile], for upstream: Upstream
  ) throws(Unprepared) -> [(name: String, value: Secret)] {
    var values: [(name: String, value: Secret)] = []
    for file in files {
      values.append(
        (file.name, try self.file(file.path, as: .line, key: file.key, for: upstream)))
    }
    return values
  }

  /// The secret of a client as its file holds it now; nil for a public client.
  func clientSecret(_ path: String?, for upstream: Upstream) throws(Unprepared) -> Secret? {
    try file(ifNamed: path, as: .line, key: "client_secret_file", for: upstream)
  }

  // MARK: Cryptography

  func crypto(for upstream: Upstream) throws(Unprepared) -> any Crypto {
    guard let loaded = crypto else { throw want(.crypto) }
    guard let library = loaded else { throw .failed(.transport(.noLibrary, from: upstream)) }
    return library
  }

  /// The keys that `credential_process` prints.
  func signer(
    for key: DeveloperCredentialsCache.Key, timeout: Duration
  ) throws(Unprepared) -> DeveloperCredentialsCache.Signer {
    guard let signer else { throw want(.signer(key, timeout: timeout)) }
    do { return try signer.get() } catch { throw .failed(error) }
  }

  /// - Parameter work: makes the assertion, on a thread.
  func assertion(
    for upstream: Upstream,
    by work: () throws(Unprepared) -> @Sendable () -> Result<ClientAssertion, InvalidInput>
  ) throws(Unprepared) -> ClientAssertion {
    switch assertion {
    case nil: throw want(.assertion(try work()))
    case .some(nil): throw .failed(.proofOverdue(for: upstream))
    case .failure(let input)??: throw .failed(.notSent(input, to: upstream))
    case .success(let assertion)??: return assertion
    }
  }

  /// Computes a proof of a sign-in on a thread, because it takes milliseconds.
  func result(of proof: PoolProof, for upstream: Upstream) throws(Unprepared) -> PoolProof.Result {
    let crypto = try crypto(for: upstream)
    guard let computed = self.proof else { throw want(.proof { proof.computed(by: crypto) }) }
    guard let result = computed else { throw .failed(.proofOverdue(for: upstream)) }
    return result
  }

  // MARK: Documents

  func document(
    at issuer: OIDCIssuer, _ exchange: @autoclosure () -> Exchange<ProviderDiscovery.Known>
  ) throws(Unprepared) -> Result<ProviderDiscovery.Known, UpstreamFailure> {
    guard let document = documents[issuer] else { throw want(.document(issuer, exchange())) }
    return document
  }
}
