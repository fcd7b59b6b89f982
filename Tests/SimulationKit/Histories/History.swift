import CredCore
import SeededRandom

/// Half an hour of a host with three uids, as data: what operators, people, programs and upstreams
/// do, and when. A seed makes one; events can be taken out of it.
public struct History: Sendable {
  /// Latencies and the configuration follow from it.
  public let seed: UInt64
  /// In the order of their times.
  public var events: [HistoryEvent]
}

public struct HistoryEvent: Sendable, CustomStringConvertible {
  /// Milliseconds since the beginning.
  let at: Int
  let act: HistoryAct

  public var description: String { "\(Double(at) / 1000) s: \(act)" }
}

enum HistoryAct: Sendable {
  /// - Parameter unit: an index in ``HistoryConfiguration/units``; nil for a login session.
  case connect(client: Int, user: Int, unit: Int?)
  case send(client: Int, HistoryRequest)
  case leave(client: Int)
  /// A uid is given to another person; without one nobody has it for now.
  case handOver(user: Int, isNamed: Bool)
  case setGroups(user: Int, [UInt32])
  /// A group gets another id, or is gone. An index in ``HistoryConfiguration/groupNames``.
  case setGroup(name: Int, id: UInt32?)
  case directory(DirectoryTrouble)
  /// Programs are on a disk that does not answer.
  case programs(hang: Bool)
  /// Nothing more fits into the store, or it works again.
  case store(isFull: Bool)
  /// An index in the run's list of configurations.
  case reload(Int)
  case restart(isKilled: Bool, StoreTrouble)
  case upstream(UpstreamTrouble)
  /// The backends end all sign-in sessions of a person.
  case revoke(person: Int)
  case sleep(seconds: Int)
  case setClock(seconds: Int)
}

enum DirectoryTrouble: Sendable, CaseIterable {
  case none, failing, hanging, slow
  /// It lists no groups, as while a directory service restarts.
  case withoutGroups
}

enum StoreTrouble: Sendable, CaseIterable {
  case none
  /// Some records are cut short.
  case torn
  /// Only IdentityIds survive.
  case empty
  /// Some records say what cannot be, as another version of the daemon might have written them.
  case strange
}

enum UpstreamTrouble: Sendable, CaseIterable {
  case none, unreachable, failing, slow, hanging, throttled
  /// Backends refuse some persons, each with words about that person.
  case refusingSome
  /// Backends have a fault for the first user, and serve the others.
  case failingOne
  /// Error pages hold what was sent.
  case echoing
  /// Answers are cut short, or are something else.
  case garbage
  /// What is asked is done, and the answer does not arrive.
  case losingReplies
}

extension History {
  static let minutes = 30
  static let users = 3
  static let configurations = 4
  private static let clients = 8

  /// - Parameter length: the number of events.
  public init(seed: UInt64, length: Int = 120) {
    var random = SeededGenerator(seed: seed ^ 0x4869_7374_6F72_79)
    var events: [HistoryEvent] = []
    let lulls = random.pick([1.0, 1.0, 4.0])
    var now = 0.0
    for client in 0..<Self.clients {
      events.append(HistoryEvent(at: 0, act: Self.connection(client, &random)))
    }
    while events.count < length {
      // Most happens at the same instant or within seconds; then nothing for minutes.
      now += random.pick([0, 0, 0.001, 0.05, 0.3, 2, 2, 20, 65 * lulls])
      events.append(
        HistoryEvent(
          at: Int(now * 1000), act: Self.act(&random, ofPools: Self.isOfPools(seed))))
    }
    if HistoryConfiguration.hasDerived(seed) {
      events = events.enumerated().map { index, event in
        HistoryEvent(at: event.at, act: Self.derived(event.act, index))
      }
    }
    self.init(seed: seed, events: events)
  }

  /// Whether all backends are user pools, and most people sign in there. In other histories few do.
  static func isOfPools(_ seed: UInt64) -> Bool { seed % 3 == 1 }

  /// Whether these are providers of OpenID Connect, at which people sign in by browser.
  static func isOfProviders(_ seed: UInt64) -> Bool { seed % 9 == 7 }

  private static func connection(_ client: Int, _ random: inout SeededGenerator) -> HistoryAct {
    .connect(
      client: client, user: random.index(users),
      unit: random.pick([nil, 0, 1]))
  }

  private static func act(
    _ random: inout SeededGenerator, ofPools isOfPools: Bool
  ) -> HistoryAct {
    let client = random.index(clients)
    switch random.index(100) {
    // A sign-in takes some steps, and little should come in between.
    case 0..<62 where isOfPools && random.happens(0.85),
      70..<87 where isOfPools && random.happens(0.7):
      return .send(client: client, poolRequest(&random))
    case 0..<62: return .send(client: client, request(&random))
    case 62..<68: return connection(client, &random)
    case 68..<70: return .leave(client: client)
    case 70..<75: return .handOver(user: random.index(users), isNamed: random.happens(0.9))
    case 75..<78:
      let groups = random.pick([[], [500], [501], HistoryConfiguration.groups])
      return .setGroups(user: random.index(users), groups)
    case 78: return rareAct(&random)
    case 79..<83: return .directory(random.pick([.none, .none] + DirectoryTrouble.allCases))
    case 83..<87: return .reload(random.index(configurations))
    case 87..<90:
      return .restart(
        isKilled: random.happens(0.5), random.pick([.none, .none] + StoreTrouble.allCases))
    case 90..<96:
      return .upstream(random.pick([.none, .none, .none] + UpstreamTrouble.allCases))
    case 96: return .revoke(person: random.index(6))
    case 97, 98: return .sleep(seconds: random.pick([5, 70, 2000, 4000]))
    default: return .setClock(seconds: random.pick([0, 0, 1, -60, 3600, -86_400]))
    }
  }

  private static func rareAct(_ random: inout SeededGenerator) -> HistoryAct {
    switch random.index(3) {
    case 0:
      let name = random.index(HistoryConfiguration.groupNames.count)
      return .setGroup(name: name, id: random.pick([500, 501, nil]))
    case 1: return .programs(hang: random.happens(0.5))
    default: return .store(isFull: random.happens(0.5))
    }
  }

  private static func poolRequest(_ random: inout SeededGenerator) -> HistoryRequest {
    let profile = random.pick([0, 0, 0, 1, 2])
    switch random.index(20) {
    case 0..<5: return .password(profile: profile, random.pick([.own, .own, .own, .own, .bad]))
    case 5..<11:
      return .get(
        profile: profile,
        members: random.pick(["", #","refresh":true"#, #","refresh":true"#, #","wait":0"#]))
    case 11, 12: return token(profile, &random)
    case 13, 14: return respond(&random)
    case 15, 16:
      return .ownAccount(profile: profile, changesPassword: random.happens(0.2))
    case 17: return .clear(profile: profile, identity: random.happens(0.2))
    case 18: return .logout(profile: profile, isGlobal: random.happens(0.3))
    default: return .password(profile: profile, .others)
    }
  }

  private static func token(
    _ profile: Int, _ random: inout SeededGenerator
  ) -> HistoryRequest {
    .token(
      profile: profile,
      members: random.pick([
        "", "", #","kind":"id""#, #","kind":"access""#, #","refresh":true"#,
        #","kind":"id","refresh":true,"wait":20"#,
      ]))
  }

  private static func respond(_ random: inout SeededGenerator) -> HistoryRequest {
    .respond(
      random.pick([.own, .own, .own, .own, .own] + ChosenHandle.allCases),
      random.pick([.answers, .answers, .answers, .answers, .wait, .cancel]),
      isGood: random.happens(0.8))
  }

  private static func request(_ random: inout SeededGenerator) -> HistoryRequest {
    let profile = random.index(3)
    switch random.index(37) {
    case 0..<10:
      return .get(
        profile: profile,
        members: random.pick([
          "", "", "", "", #","wait":0"#, #","wait":40"#, #","refresh":true"#, #","min_ttl":3000"#,
        ]))
    case 10, 11: return token(profile, &random)
    case 12: return .identity(profile: profile)
    case 13, 14:
      return .impersonate(
        profile: profile, user: random.index(users), byName: random.happens(0.5))
    case 15, 16, 17: return .password(profile: profile, random.pick([.own, .own, .bad, .others]))
    case 18, 19: return .developerToken(profile: profile, random.pick(Claim.allCases))
    case 20, 31:
      return .logins(
        profile: profile, random.pick([.publicOne, .publicOne] + LoginProvider.allCases),
        isAlone: random.happens(0.5), choosesIdentity: random.happens(0.3))
    case 21: return .hostLogin(profile: profile)
    case 22, 23: return .logout(profile: profile, isGlobal: random.happens(0.3))
    case 24: return .clear(profile: profile, identity: random.happens(0.5))
    case 25: return .release(profile: profile)
    case 26:
      return .status(
        members: random.pick([
          "", "", #","limit":1"#, #","limit":1,"after":"1001/p0""#, #","profiles":true"#,
          #","all":true"#,
        ]))
    case 27: return .ping
    case 28: return .watch(profile: random.pick([nil, nil, profile]))
    case 33, 34: return respond(&random)
    case 35: return .password(profile: profile, .own)
    case 36: return .ownAccount(profile: profile, changesPassword: random.happens(0.2))
    case 30, 32:
      return .account(
        profile: profile, random.pick(Claim.allCases), isKnown: random.happens(0.8))
    default: return .nonsense(random.index(HistoryRun.nonsense.count))
    }
  }
}
