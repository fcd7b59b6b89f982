import CredCore
import CredService

/// Judges what the daemon does by itself: how many calls it makes, and whether sessions that are kept
/// have their credentials before anybody asks.
extension HistoryRun {
  // MARK: Calls

  private static let countedTime = 600.0
  /// The most calls of a session in that time that nobody asked for: refreshes, each a chain of
  /// calls, and attempts after failures.
  private static let ownCalls = 6
  /// The most calls that a line brings: of a sign-in and a refresh, with their repetitions.
  private static let callsOfLine = 5

  /// Counts the calls from now on, again and again.
  func countCalls() {
    let (calls, lines) = (world.report.calls, world.report.requests)
    world.after(Self.countedTime) { [self] in
      let made = world.report.calls - calls
      let asked = world.report.requests - lines
      let profiles = host.configuration.derived == nil ? 3 : 4
      if made > asked * Self.callsOfLine + History.users * profiles * Self.ownCalls {
        world.violate(.boundedCalls, "\(made) calls in ten minutes with \(asked) lines")
      }
      countCalls()
    }
  }

  // MARK: Sessions that are kept

  /// A session in the calm, by numbers.
  struct Place: Hashable {
    let user: Int
    let profile: Int
  }

  /// Credentials were given in the calm. Nothing ends the session from then on.
  func noteKept(_ line: HistoryClient.Line, _ client: HistoryClient) {
    guard world.isCalm, case .get(let number, _) = line.request, client.number >= 100,
      let profile = host.configuration.profile("p\(number)"), profile.keepsSessions,
      profile.backend != nil, profile.worksUnattended(host.configuration.backends),
      // The user database lists no groups of a uid without a name.
      people.holder(of: client.user)?.isNamed == true, mustAdmit(profile, line, client)
    else { return }
    let place = Place(user: client.user, profile: number)
    if !isRested {
      keptWarm.insert(place)
    } else if keptWarm.contains(place) {
      judgeWait(line, client)
    }
  }

  /// The user may have to be looked up.
  private static let longestWait = Duration.milliseconds(50)

  private func judgeWait(_ line: HistoryClient.Line, _ client: HistoryClient) {
    let wait = world.now - line.start
    guard wait > Self.longestWait else { return }
    world.violate(
      .keptWarm, "\(client.name) waited \(wait) for \(line.profile ?? ""), which is kept")
  }

  // MARK: Faults

  /// The fault ``InjectedFault/dropOnFailure``: a line that nobody sent.
  func intrude(_ user: Int) {
    world.inProcess(after: 0) { [self] in
      guard let service = host.service else { return }
      let intruder = HistoryIntruder(user)
      intruders.append(intruder)
      let client = service.connected(intruder, intruder)
      for profile in host.configuration.profiles {
        let line = #"{"op":"clear","profile":"\#(profile.name)","what":"credentials"}"#
        _ = service.receive(Array(line.utf8).span, from: client, now: host.clock.now)
      }
    }
  }
}

/// Whoever sends what no user sent.
final class HistoryIntruder: PeerFacts, ReplySink {
  let peer: Peer

  init(_ user: Int) {
    peer = Peer(uid: HistoryPeople.uid(user), gid: 100, pid: 99)
  }

  func groups() -> [UInt32] { HistoryConfiguration.groups }
  func unit() -> String? { nil }
  func isAlive() -> Bool { true }
  func startTime() -> Instant? { World.beginning }
  func send(_ reply: [UInt8]) {}
  func finish() {}
}
