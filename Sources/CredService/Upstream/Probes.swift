package import CredCore

/// A server that a profile's sign-ins and renewals need.
struct ProbedPlace: Hashable {
  let name: String
  let upstream: Upstream
  let url: String
  let settings: HTTPSettings
  /// The queue in which a request waits for its turn, among the calls to the same server.
  let queue: CallQueue
  /// How the answer is read; nil if any answer is good.
  var reading: ProviderProbe?
  /// Whether the path of the calls is left out, because a call would change something.
  var omitsPath = false

  /// What a good answer shows.
  var trial: ProbeOutcome.Trial {
    switch reading {
    case .discovery?, .keys?: .answer
    case .pool?, nil: omitsPath ? .serverWithoutPath : .server
    }
  }

  static func == (one: ProbedPlace, other: ProbedPlace) -> Bool {
    one.url == other.url && one.settings == other.settings
  }

  func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// Whether such a server answers.
package struct ProbeOutcome: Sendable {
  package let name: String
  /// The URL that was asked.
  package let url: String
  /// Whether it is a server of AWS, whose clock is right.
  package let isOfAWS: Bool
  package let trial: Trial
  package let duration: Duration
  package let result: Result<Answer, UpstreamFailure>

  package enum Trial: Sendable {
    /// The server's answer was read, and fits.
    case answer
    /// The server can be reached.
    case server
    /// The same, and the path of its calls was not tried.
    case serverWithoutPath
  }

  package struct Answer: Sendable {
    package let status: Int
    package let connection: HTTPConnection?
    /// How far the server's clock is ahead of this host's; nil if the server gives no time.
    package let clockDifference: Duration?
  }
}

extension ProbeOutcome {
  /// How far the server's clock is ahead of this host's; nil if that is not known.
  var clockDifference: Duration? { (try? result.get())?.clockDifference }

  fileprivate init(
    _ place: ProbedPlace, in duration: Duration, _ result: Result<Answer, UpstreamFailure>
  ) {
    self.init(
      name: place.name, url: place.url, isOfAWS: [.cognitoIdentity, .sts].contains(place.upstream),
      trial: place.trial, duration: duration, result: result)
  }
}

/// The servers that one `check` asks.
private final class ProbeRun {
  let request: ProbeRequest
  let completion: ([ProbeOutcome]) -> Void
  var left: ArraySlice<ProbedPlace>
  var outcomes: [ProbeOutcome] = []
  /// Armed while a request waits for its turn.
  var timer: (any Timer)?

  init(
    _ request: ProbeRequest, _ places: [ProbedPlace],
    _ completion: @escaping ([ProbeOutcome]) -> Void
  ) {
    self.request = request
    self.completion = completion
    left = places[...]
  }

  /// Reports the next servers as not asked.
  func skip(_ count: Int) {
    outcomes += left.prefix(count).map {
      ProbeOutcome($0, in: .zero, .failure(.notAsked($0.upstream)))
    }
    left = left.dropFirst(count)
  }
}

/// Asks the servers of profiles for `check`.
final class ServerProbes {
  private let turns: CallTurns
  private let sender: Sender
  private let memory: ExchangeMemory

  /// How long a request waits for its turn: a busy server must not take the time of all others.
  private static let probeWait: Duration = .seconds(15)

  init(_ turns: CallTurns, _ sender: Sender, _ memory: ExchangeMemory) {
    self.turns = turns
    self.sender = sender
    self.memory = memory
  }

  private var services: UpstreamServices { sender.services }

  /// The outcome of a server, and the further servers that it named.
  private typealias Probed = (outcome: ProbeOutcome, further: [ProbedPlace])

  /// Sends a request that changes nothing to each server of the profiles, one after another. Any
  /// answer counts, because it shows that the server works.
  ///
  /// Each request has its turn in a queue of ordinary calls, and counts against their rate and number.
  func start(_ request: ProbeRequest, _ completion: @escaping ([ProbeOutcome]) -> Void) {
    var places: [ProbedPlace] = []
    for place in request.profiles.flatMap({ self.places(of: $0) }) where !places.contains(place) {
      places.append(place)
    }
    let run = ProbeRun(request, places, completion)
    run.timer = services.clock.makeTimer { [unowned self, weak run] in
      // A request that was sent has its own deadline.
      guard let run, turns.withdraw(run.request.id) else { return }
      run.skip(1)
      askNext(run)
    }
    askNext(run)
  }

  private func askNext(_ run: ProbeRun) {
    let now = services.clock.now
    if now >= run.request.until { run.skip(run.left.count) }
    guard let place = run.left.first else {
      run.timer?.arm(at: nil)
      return turns.later { run.completion(run.outcomes) }
    }
    run.timer?.arm(at: min(run.request.until, now + Self.probeWait))
    let call = Admission.Call(
      id: run.request.id, profile: "", isInPerson: true, isRetry: false, isCheck: true)
    turns.perform(call, in: place.queue) {
      [unowned self] (_: CallTurn, done: @escaping Completion<Probed>) in
      probe(place) { done(.success($0)) }
    } completion: { [unowned self] result in
      if let probed = try? result.get() {
        run.outcomes.append(probed.outcome)
        run.left = probed.further[...] + run.left.dropFirst()
      } else {
        run.skip(1)
      }
      askNext(run)
    }
  }

  private func probe(_ place: ProbedPlace, _ completion: @escaping (Probed) -> Void) {
    let start = services.clock.now
    services.http.send(HTTPRequest(method: .get, url: place.url), place.settings) {
      [unowned self] result in
      let time = services.clock.now - start
      var further: [ProbedPlace] = []
      let answer: Result<ProbeOutcome.Answer, UpstreamFailure> =
        switch result {
        case .failure(let failure):
          .failure(
            .transport(
              failure, from: place.upstream, at: CalledServer(url: place.url, place.settings)
            )
            .with(
              request: "GET \(place.url)", answer: failure.detail ?? failure.reason, took: time))
        case .success(let reply):
          Result { () throws(UpstreamFailure) in
            further = try place.reading?.places(after: reply, place) ?? []
            return ProbeOutcome.Answer(
              status: reply.status, connection: reply.connection,
              clockDifference: reply.date.map { $0 - services.clock.wallTime })
          }.mapError {
            $0.with(request: "GET \(place.url)", answer: "HTTP \(reply.status)", took: time)
          }
        }
      completion((ProbeOutcome(place, in: time, answer), further))
    }
  }

  private func places(of profile: Profile) -> [ProbedPlace] {
    var places: [ProbedPlace] = []
    for profile in [profile, profile.link].compactMap({ $0 }) {
      places += CalledBackend(profile, sender, memory)?.exchanges.places(turns) ?? []
    }
    places += AWSExchanges(profile: profile, sender: sender)?.places(turns) ?? []
    places += DirectExchanges(profile, sender)?.places(turns) ?? []
    places += DerivedExchanges(profile, sender, memory)?.places(turns) ?? []
    return places + (profile.source.map { self.places(of: $0) } ?? [])
  }
}

extension HTTPSettings {
  private static let probeTimeout: Duration = .seconds(10)

  /// The settings for a request that changes nothing.
  var probing: HTTPSettings {
    var settings = self
    settings.timeout = min(timeout, Self.probeTimeout)
    // A new connection checks the server's address and its certificate too.
    settings.isSentOnce = true
    settings.describesConnection = true
    return settings
  }
}
