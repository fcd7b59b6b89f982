/// What a refresh does to go on after a failure.
struct Remedy {
  /// What the session drops for the remedy.
  struct Drops: OptionSet {
    let rawValue: UInt8
    static let token = Drops(rawValue: 1)
    static let identity = Drops(rawValue: 2)
    /// The ID token of the refresh's own sign-in, which goes on without it.
    static let idToken = Drops(rawValue: 4)
    static let loginsOfClients = Drops(rawValue: 8)
  }

  /// The refresh that goes on; nil if nothing is left to try.
  var next: Refresh?
  /// Dropped also if nothing is left to try: the next refresh must not begin with it.
  var drops: Drops = []

  /// Nothing mends it.
  static let none = Remedy()
}

extension Refresh {
  /// This refresh with a remedy; nothing if it was tried before.
  func with(
    _ remedy: Remedies, dropping drops: Remedy.Drops = [],
    _ change: (inout Refresh) -> Void = { _ in }
  ) -> Remedy {
    var next = self
    guard next.remedies.insert(remedy).inserted else { return .none }
    change(&next)
    return Remedy(next: next, drops: drops)
  }
}
