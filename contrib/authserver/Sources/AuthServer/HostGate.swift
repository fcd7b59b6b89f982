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
    // Made-up tokens must not hide what became of a host's own. A token's id is in the audit, and is no
    // secret: anybody can make up the rest.
    if let host = fault.host, fault.reason != .wrong {
      try await audit.write([note], from: .host(host, at: origin.source))
    } else {
      try await audit.write([note], from: .stranger(origin.source))
    }
    return .hostNotAuthorized
  }

  /// Writes to the audit why an enrolled host got nothing, so that each use of a stolen token is there.
  func noting<T>(
    _ host: Enrolment, _ origin: RequestOrigin, _ more: [String: String] = [:],
    _ body: () async throws -> T
  ) async throws -> T {
    do { return try await body() } catch let refusal as Refusal {
      let members = more.merging(["host": host.name, "reason": refusal.code]) { $1 }
      let note = AuditNote("refused", origin.members(members), at: now())
      try await audit.write([note], from: .host(host.name, at: origin.source))
      throw refusal
    }
  }
}
