extension SessionMachine {
  /// Starts a refresh if its time has come, or if a caller in person is a reason to hurry.
  mutating func startIfDue(_ turn: inout Turn) {
    if case .fetching(var attempt) = work {
      // A caller who wants credentials joins a fetch that was for a token alone.
      if waiters.contains(where: { $0.want == .credentials }) { attempt.goal = .credentials }
      work = .fetching(attempt)
    } else if nextStart.map({ $0 <= turn.now }) ?? false || isHurried(turn.now) {
      start(&turn)
    }
  }

  /// When a refresh starts if nothing happens before; nil where it takes an event first.
  var nextStart: Instant? {
    guard means != nil else { return nil }
    switch work {
    case .fetching:
      return nil
    case .resting(let rest):
      let isAwaited = waiters.contains { isServedByRefresh($0) && $0.deadline > rest.until }
      return isInUse || isAwaited ? rest.until : nil
    case .idle:
      let renewal = isInUse ? credentials?.refreshAt : nil
      let wanted = waiters.compactMap { waiter in
        let start = earliestStart(for: waiter)
        return isServedByRefresh(waiter) && start < waiter.deadline ? start : nil
      }
      return (wanted + [renewal].compactMap(\.self)).min()
    }
  }

  /// Whether a refresh could do anything for a session as it stands.
  var canRefresh: Bool { means != nil }

  /// Whether only a sign-in helps a waiter.
  func needsSignIn(_ waiter: Waiter) -> Bool {
    if case .tokensInvalid = standing { return true }
    return means == nil || !isServedByRefresh(waiter)
  }

  /// Whether somebody asked just now who is worth an attempt before the pause is over, and even
  /// one that they have no time to wait for. Who was answered from the cache is not.
  private func isHurried(_ now: Instant) -> Bool {
    waiters.contains { waiter in
      guard means != nil, waiter.arrived == now, isServedByRefresh(waiter) else { return false }
      guard case .resting(let rest) = work else { return earliestStart(for: waiter) <= now }
      return rest.callersFrom <= now
    }
  }

  /// Tokens come from a backend alone; guests and other logins never have one.
  private func isServedByRefresh(_ waiter: Waiter) -> Bool {
    guard waiter.want == .token else { return true }
    return if case .backend = means { true } else { false }
  }

  /// Who is not content with what came a moment ago waits a little for the next.
  func earliestStart(for waiter: Waiter) -> Instant {
    let received = waiter.want == .token ? token?.received : credentials?.received
    guard waiter.isDemanding, let received else { return waiter.arrived }
    return max(waiter.arrived, received + RefreshPolicy.demandInterval)
  }

  mutating func start(_ turn: inout Turn) {
    guard let means else { return }
    let isForToken = !waiters.isEmpty && waiters.allSatisfy { $0.want == .token }
    proceed(
      Attempt(
        call: 0, goal: isForToken && signInProgress == nil ? .token : .credentials,
        voucher: means.voucher), &turn)
  }
}
