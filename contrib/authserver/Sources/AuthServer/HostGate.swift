import AuthCore
import AuthStore

/// Lets in hosts that are enrolled. The others get one answer, whatever the reason; the audit has it, a
/// few entries of each source.
struct HostGate: Sendable {
  let store: AuthStore
  let audit: AuditLog
  let now: @Sendable () -> Timestamp

  func host(_ asking: AskingHost) async throws -> Enrolment {
    let time = now()
    guard let host = try await store.host(of: asking.proof, now: time), host.isValid(at: time)
    else {
      throw try await refusal(of: asking.proof, asking.origin)
    }
    return host
  }

  /// For a proof that was found to be none.
  func refusal(of proof: HostProof, _ origin: RequestOrigin) async throws -> Refusal {
    let time = now()
    let fault = try await store.fault(of: proof, now: time)
    var members = ["reason": fault.reason.rawValue]
    members["host"] = fault.host
    let note = AuditNote("hostRefused", origin.members(members), at: time)
    // Made-up tokens must not hide what became of a host's own.
    if let host = fault.host {
      try await audit.write([note], from: "\(host) \(origin.source)")
    } else {
      try await audit.write([note], from: origin.source, isStranger: true)
    }
    return .hostNotAuthorized
  }
}
