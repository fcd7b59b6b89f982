package import CredCore

/// A user, at a socket with a cap or at all other sockets: see ``ClientSocket/allowance``.
package struct UserPlace: Hashable {
  package let uid: UInt32
  package let allowance: UnixSocketPath?

  package init(uid: UInt32, allowance: UnixSocketPath?) {
    self.uid = uid
    self.allowance = allowance
  }
}

/// What there is for a client, by the socket over which it came. Requests, lists, watches, suggestions
/// and errors know nothing of the rest.
enum Door {
  /// Everything: the main socket, and the endpoint.
  case main
  /// What a section `[socket PATH]` names.
  case capped(SocketCap)
  /// Nothing: a socket that is not as its section says, or that has none.
  case closed
}

/// A section `[socket PATH]`, as the service uses it. A class, so that each client has only a reference.
final class SocketCap: Sendable {
  /// Sorted.
  let profileNames: [String]
  let operations: Set<String>
  /// What to look up about a caller that names a profile outside of the cap, or asks for all
  /// profiles. It is the same for a profile that does not exist.
  let needs: CallerNeeds
  private let profiles: Set<String>

  init(_ settings: SocketSettings, _ known: [String: Profile]) {
    profileNames = settings.profiles.sorted()
    profiles = Set(settings.profiles)
    operations = Set(settings.operations.map(\.rawValue))
    needs = CallerNeeds(settings.profiles.compactMap { known[$0] }, forOthers: false)
  }

  func has(_ profile: String) -> Bool { profiles.contains(profile) }
}

extension Door {
  var cap: SocketCap? { if case .capped(let cap) = self { cap } else { nil } }

  func has(_ profile: String) -> Bool {
    switch self {
    case .main: true
    case .capped(let cap): cap.has(profile)
    case .closed: false
    }
  }

  /// The profile of a request that names none.
  var standardProfile: String {
    guard let cap, cap.profileNames.count == 1 else { return ProfileName.default }
    return cap.profileNames[0]
  }

  /// Why the client cannot make the request here, whatever profile it names; nil if it can.
  func refusal(of operation: Operation) -> ProtocolError? {
    if let error = refusal(ofOperation: operation.name) { return error }
    guard cap != nil, case .get(let get) = operation, get.user != nil else { return nil }
    return ProtocolError(.accessDenied, "over this socket nobody acts for others")
  }

  private func refusal(ofOperation name: String) -> ProtocolError? {
    switch self {
    case .main: nil
    case .capped(let cap): cap.operations.contains(name) ? nil : Self.unavailable
    case .closed: Self.refusalOfAll
    }
  }

  /// The refusal of a line that is no request. An operation that this socket does not have is
  /// refused first, in the words for an operation that does not exist.
  func refusal(of error: RequestError) -> ProtocolError {
    if case .closed = self { return Self.refusalOfAll }
    guard cap != nil else { return error.error }
    if error.error.code == .unknownOperation { return Self.unavailable }
    return error.operation.flatMap(refusal(ofOperation:)) ?? error.error
  }

  /// An error in the words for this door. A sign-in is made elsewhere, and what is wrong with one, or with
  /// a source, may name what is not here.
  func worded(_ error: ProtocolError) -> ProtocolError {
    guard cap != nil else { return error }
    let message: String
    if error.code == .signInRequired {
      message = "nobody is signed in: \(ProtocolError.signInElsewhere)"
    } else if error.isOfSource {
      message = ProtocolError.toldElsewhere
    } else {
      return error
    }
    var worded = ProtocolError(error.code, message, retryAfter: error.retryAfter)
    worded.kind = error.kind
    return worded
  }

  private static let unavailable = ProtocolError(
    .accessDenied, "this operation is not available over this socket")

  /// The answer to everybody at a closed socket. The journal says why.
  static let refusalOfAll = ProtocolError.closedSocket
}
