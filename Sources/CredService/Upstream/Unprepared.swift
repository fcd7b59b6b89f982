import CredCore

/// Why a step is not prepared.
enum Unprepared: Error {
  /// Something must be fetched before: see ``CallInputs/wanted``.
  case wanting
  /// The call ends.
  case failed(UpstreamFailure)
}

extension Upstream {
  /// Turns a problem before a request into the failure of the call.
  func checked<R>(_ body: () throws(InvalidInput) -> R) throws(Unprepared) -> R {
    do { return try body() } catch { throw .failed(.notSent(error, to: self)) }
  }
}
