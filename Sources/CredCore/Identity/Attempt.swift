/// One refresh under way: a chain of upstream calls, one at a time.
struct Attempt: Sendable, Equatable {
  /// The remedies that were tried. Each is tried once, so that no attempt can go round in circles.
  struct Remedies: OptionSet, Sendable {
    let rawValue: UInt8
    static let newToken = Remedies(rawValue: 1)
    static let droppedIdentity = Remedies(rawValue: 2)
    static let withoutIdentity = Remedies(rawValue: 4)
    static let newIdentity = Remedies(rawValue: 8)
  }

  /// The call that is awaited; an answer with another number is stale.
  var call: UInt64
  /// Where the chain ends.
  var goal: Waiter.Want
  var remedies: Remedies = []
  /// The standing that a success leads to: a guest's where it is nil.
  var voucher: Voucher?
  /// The token of GetOpenIdToken, on its way to STS.
  var openIDToken: Secret?
  var hasReadTokenFile = false

  /// Whether a token that arrives is GetOpenIdToken's, not a backend's.
  func awaitsOpenIDToken(_ means: SessionMachine.Means?) -> Bool {
    if case .backend = means { false } else { true }
  }
}
