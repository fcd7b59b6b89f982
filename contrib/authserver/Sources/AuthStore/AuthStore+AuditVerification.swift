public import AuthCore

extension AuthStore {
  /// Follows every chain. A chain with archived entries is followed from the end of its archive.
  ///
  /// - Parameters:
  ///   - heads: ends of chains that the log has kept.
  ///   - archives: what the given archives hold.
  /// - Returns: the ends, and what is wrong.
  public func verifyAudit(
    heads: [AuditHead], archives: [ArchivedChain] = []
  ) async throws -> (ends: [AuditHead], faults: [String]) {
    let recorded = try await auditHeads()
    let starts = try await auditStarts()
    let stored = try await storedChains()
    let chains = Set(
      (recorded + starts + heads + archives.map(\.start)).map(\.chain) + stored
    ).sorted()
    var ends: [AuditHead] = []
    var faults: [String] = []
    for chain in chains {
      let start = starts.first { $0.chain == chain } ?? AuditHead(chain: chain)
      let end = recorded.first { $0.chain == chain }
      let verifier = try await follow(start, to: end, heads)
      ends.append(verifier.head)
      if let fault = verifier.fault { faults.append(fault) }
      faults += Self.faults(of: archives.filter { $0.start.chain == chain }, before: start, heads)
    }
    return (ends, faults)
  }

  /// One page after the other: a statement may not take as long as all entries would.
  private func storedChains() async throws -> [String] {
    var chains: [String] = []
    while true {
      let last = chains.last ?? ""
      let next = try await database.read {
        try $0.run("SELECT MIN(chain) FROM audit WHERE chain > ?", .text(last)).first?.optionalText(
          0)
      }
      guard let next else { return chains }
      chains.append(next)
    }
  }

  private func follow(
    _ start: AuditHead, to recorded: AuditHead?, _ heads: [AuditHead]
  ) async throws -> AuditVerifier {
    let chain = start.chain
    var verifier = AuditVerifier(
      chain: chain, after: start, heads: heads + (recorded.map { [$0] } ?? []))
    while verifier.fault == nil {
      let page = try await auditPage(of: chain, after: verifier.head.sequence)
      if page.isEmpty { break }
      for entry in page { verifier.take(entry) }
    }
    // Servers go on writing meanwhile. An entry and the chain's end are written together, so an end
    // that is read after the entries is never behind them.
    if let end = try await auditHead(of: chain) {
      verifier.finish(recorded: end, isGrowing: end != recorded)
    } else {
      verifier.finishWithoutEnd()
    }
    return verifier
  }

  /// What is wrong with the archives of one chain. They reach back from the chain's start.
  private static func faults(
    of archives: [ArchivedChain], before start: AuditHead, _ heads: [AuditHead]
  ) -> [String] {
    var faults: [String] = []
    var (earliest, rest) = (start, archives)
    while let index = rest.firstIndex(where: { $0.end == earliest }) {
      earliest = rest.remove(at: index).start
    }
    for other in rest {
      faults.append(
        "an archive has entries \(other.start.sequence + 1) to \(other.end.sequence) of chain "
          + "\(start.chain), and neither the audit nor another archive goes on from there")
    }
    // A person who can write the database could say of any entries that they were archived.
    let missing = heads.filter { head in
      head.chain == start.chain && head.sequence > 0 && head.sequence < start.sequence
        && !archives.contains { $0.holds(head) }
    }
    if let head = missing.min(by: { $0.sequence < $1.sequence }) {
      faults.append(
        "entry \(head.sequence) of chain \(start.chain), which the log names, is in an archive: give "
          + "that with --archive")
    }
    return faults
  }
}
