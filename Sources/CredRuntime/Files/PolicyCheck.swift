internal import CredCore

/// Reads the files of policies for `--check-config`, which goes on where the daemon alone sees one, or where
/// one hangs.
final class PolicyCheck {
  private let user: ServiceUser
  private let credentials: String?
  private var files = BoundedWait()
  /// Why files were not looked at, by their paths.
  private(set) var unseen: [String: String] = [:]

  /// Stands for a file that is not seen here. Nothing runs with it.
  private static let any = Array(
    #"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}"#.utf8)

  /// - Parameter credentials: as of ``ServiceUser/reasonUnseen(_:_:credentials:)``.
  init(_ user: ServiceUser, credentials: String?) {
    self.user = user
    self.credentials = credentials
  }

  func read(_ path: String) -> Result<[UInt8], InvalidValue> {
    switch look(at: path) {
    case .success(let content): return .success(content)
    case .failure(let refusal):
      guard let reason = user.reasonUnseen(path, refusal.number, credentials: credentials) else {
        return .failure(
          InvalidValue(user.access(refusal.number)?.predicate(of: path) ?? refusal.reason))
      }
      unseen[path] = reason
    case nil: break
    }
    return .success(Self.any)
  }

  private func look(at path: String) -> Result<[UInt8], PolicyFile.Refusal>? {
    let wasOver = files.isOver
    let owners = user.owners
    if let result = files.wait(for: { PolicyFile.read(path, owners: owners) }) { return result }
    unseen[path] = BoundedWait.problem(of: path, wasOver: wasOver)
    return nil
  }
}
