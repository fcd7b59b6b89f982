import CredCore

/// A profile that hands out a provider's tokens alone: all its calls are at its backend.
struct TokensCalls: WayCalls {
  let upstream: Upstream

  init(_ backend: BackendSettings?) {
    upstream = backend.map { .backend($0.name) } ?? .cognitoIdentity
  }

  func queue(of call: UpstreamCall, in queues: inout CallQueues) -> CallQueue? { nil }

  func prepared(
    _ call: UpstreamCall, for user: UnixUser, _ inputs: CallInputs
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    throw .failed(.unfitSession(of: upstream))
  }

  func places(_ queues: inout CallQueues) -> [ProbedPlace] { [] }
}
