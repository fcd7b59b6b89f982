public import AuthCore
public import AuthServer
import Synchronization

/// Cognito's developer operations in memory, for tests of what the server makes of them. The tests
/// of the programs ask credd-sandbox, which is strict about signatures too.
public final class FakeCognito: Cognito {
  public struct Call: Sendable, Equatable {
    public var user: String
    public var identityID: String?
    public var logins: [String: String]
  }

  private struct State {
    /// Identities with their developer users and other providers.
    var identities: [String: (users: Set<String>, logins: Set<String>)] = [:]
    var calls: [Call] = []
    var failure: CognitoFailure?
    var count = 0
  }

  private let state = Mutex(State())
  private let delay: Duration

  public init(delay: Duration = .zero) { self.delay = delay }

  public var calls: [Call] { state.withLock { $0.calls } }

  public func fail(_ failure: CognitoFailure?) { state.withLock { $0.failure = failure } }

  public func add(identity id: String, users: Set<String> = [], logins: Set<String> = []) {
    state.withLock { $0.identities[id] = (users, logins) }
  }

  public func identity(of user: String) -> String? {
    state.withLock { state in state.identities.first { $0.value.users.contains(user) }?.key }
  }

  public func token(
    pool: AuthCore.Configuration.Pool, user: String, logins: [String: String], identityID: String?
  ) async throws(CognitoFailure) -> CognitoToken {
    if delay > .zero { try? await Task.sleep(for: delay) }
    let outcome: Result<CognitoToken, CognitoFailure> = state.withLock { state in
      state.calls.append(Call(user: user, identityID: identityID, logins: logins))
      if let failure = state.failure { return .failure(failure) }
      let own = state.identities.first { $0.value.users.contains(user) }?.key
      if let identityID {
        guard state.identities[identityID] != nil else {
          return .failure(CognitoFailure(code: "ResourceNotFoundException", message: "not found"))
        }
        guard own == nil || own == identityID else {
          return .failure(
            CognitoFailure(code: "DeveloperUserAlreadyRegisteredException", message: "registered"))
        }
      }
      state.count += 1
      let id = identityID ?? own ?? "us-east-1:\(Hex.encode(Array(user.utf8)).prefix(40))"
      state.identities[id, default: ([], [])].users.insert(user)
      state.identities[id]?.logins.formUnion(logins.keys)
      return .success(CognitoToken(identityID: id, token: "token-\(state.count)"))
    }
    return try outcome.get()
  }

  public func users(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]? {
    state.withLock { $0.identities[id].map { Array($0.users) } }
  }

  public func identity(
    ofUser user: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String? { identity(of: user) }

  public func logins(
    ofIdentity id: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> [String]? {
    state.withLock { $0.identities[id].map { Array($0.logins) } }
  }

  public func merge(
    _ source: String, into destination: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) -> String {
    throw CognitoFailure(code: "InternalErrorException", message: "ask the sandbox")
  }

  public func unlink(
    _ user: String, from identityID: String, pool: AuthCore.Configuration.Pool
  ) async throws(CognitoFailure) {
    state.withLock { _ = $0.identities[identityID]?.users.remove(user) }
  }
}
