@testable import CredCore

/// An admission with a clock of its own, and what it decided.
struct AdmissionDriver {
  private(set) var admission: Admission
  private(set) var now = Instant.seconds(1000)
  private(set) var admitted: [CallID] = []
  /// When each of them was.
  private(set) var times: [Instant] = []
  private(set) var refused: [CallID: UpstreamFailure] = [:]
  private var callIDs = CallIDs()
  /// 2026-01-01T00:00:00Z at the beginning.
  private let wallTime = WallTime(secondsSince1970: 1_767_225_600)

  static let upstream = Upstream.backend("corp")
  static let unavailable = UpstreamFailure.transport(.connect, from: upstream)

  init(rate: Rate = .perSecond(1000), width: Int = 100) {
    admission = Admission(Self.upstream, .init(rate: rate, width: width))
  }

  @discardableResult
  mutating func ask(
    _ profile: String = "work", inPerson: Bool = false, isRetry: Bool = false,
    dependsOnUserInput: Bool = false, user: UInt32? = nil, name: String = "alice",
    isCheck: Bool = false
  ) -> CallID {
    let id = callIDs.next()
    send(
      .asked(
        .init(
          id: id, profile: profile, isInPerson: inPerson, isRetry: isRetry,
          dependsOnUserInput: dependsOnUserInput,
          user: user.map { UnixUser(uid: $0, name: name) }, isCheck: isCheck)))
    return id
  }

  mutating func send(_ event: Admission.Event) {
    let wall = wallTime + (now - .seconds(1000))
    for action in admission.handle(event, now: now, wallTime: wall) {
      switch action {
      case .admit(let id):
        admitted.append(id)
        times.append(now)
      case .refuse(let id, let failure): refused[id] = failure
      }
    }
  }

  mutating func end(_ id: CallID, _ failure: UpstreamFailure? = nil) {
    send(.ended(id, failure))
  }

  /// Calls, admitted at once, that fail.
  mutating func fail(
    _ count: Int = 1, _ failure: UpstreamFailure = unavailable, inPerson: Bool = false
  ) {
    for _ in 0..<count { end(ask(inPerson: inPerson), failure) }
  }

  mutating func advance(by seconds: Double) {
    let end = now + .seconds(1) * seconds
    while admission.nextWake <= end {
      now = max(now, admission.nextWake)
      send(.timePassed)
      guard admission.nextWake > now else { break }
    }
    now = end
  }
}
