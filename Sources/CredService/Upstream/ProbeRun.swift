import CredCore

/// The requests of one `check`: one to each server, one after another. They change nothing, and any
/// answer counts, because it shows that the server works.
///
/// Each request has its turn in a queue of ordinary calls, and counts against their rate and number.
final class ProbeRun: TurnTaking {
  private let request: ProbeRequest
  private let completion: ([ProbeOutcome]) -> Void
  private unowned let turns: CallTurns
  private let services: UpstreamServices
  private var left: ArraySlice<ProbedPlace>
  private var outcomes: [ProbeOutcome] = []
  /// Armed while a request waits for its turn.
  private var timer: (any Timer)?

  /// How long a request waits for its turn: a busy server must not take the time of all others.
  private static let longestWait: Duration = .seconds(15)

  /// - Parameter places: the servers that are asked first.
  init(
    _ request: ProbeRequest, _ places: [ProbedPlace], _ turns: CallTurns,
    _ services: UpstreamServices, _ completion: @escaping ([ProbeOutcome]) -> Void
  ) {
    self.request = request
    self.completion = completion
    self.turns = turns
    self.services = services
    left = []
    for place in places where !left.contains(place) { left.append(place) }
  }

  func start() {
    timer = services.clock.makeTimer { [unowned self] in waitedTooLong() }
    askNext()
  }

  private func askNext() {
    let now = services.clock.now
    if now >= request.until { skip(left.count) }
    guard let place = left.first else {
      timer?.arm(at: nil)
      return turns.deferred.later { [self] in completion(outcomes) }
    }
    timer?.arm(at: min(request.until, now + Self.longestWait))
    turns.enter(
      Admission.Call(
        id: request.id, profile: "", isInPerson: true, isRetry: false, isCheck: true),
      in: place.queue, self)
  }

  /// A request that was sent has its own deadline.
  private func waitedTooLong() {
    guard turns.isWaiting(request.id) else { return }
    turns.cancel(request.id)
    skip(1)
    askNext()
  }

  /// Reports the next servers as not asked.
  private func skip(_ count: Int) {
    outcomes += left.prefix(count).map {
      ProbeOutcome($0, in: .zero, .failure(.notAsked($0.upstream)))
    }
    left = left.dropFirst(count)
  }

  func turnCame(_ refusal: UpstreamFailure?) {
    guard turns.goesOn(request.id), let place = left.first else { return }
    guard refusal == nil else {
      _ = turns.end(request.id, refusal, of: nil)
      skip(1)
      return askNext()
    }
    turns.noteSent(request.id)
    let (start, request) = (
      services.clock.now,
      UpstreamRequest(
        HTTPRequest(method: .get, url: place.url), place.settings, to: place.upstream)
    )
    services.http.send(request.http, request.settings) { [self] result in
      take(result, from: place, request, in: services.clock.now - start)
    }
  }

  private func take(
    _ result: Result<HTTPReply, TransportFailure>, from place: ProbedPlace,
    _ request: UpstreamRequest, in time: Duration
  ) {
    guard turns.end(self.request.id, nil, of: nil) else { return }
    var further: [ProbedPlace] = []
    let answer: Result<ProbeOutcome.Answer, UpstreamFailure> =
      switch result {
      case .failure(let failure): .failure(request.failure(failure, after: time))
      case .success(let reply):
        Result { () throws(UpstreamFailure) in
          further = try place.reading?.places(after: reply, place) ?? []
          return ProbeOutcome.Answer(
            status: reply.status, connection: reply.connection,
            clockDifference: reply.date.map { $0 - services.clock.wallTime })
        }.mapError {
          $0.with(request: request.http.summary, answer: "HTTP \(reply.status)", took: time)
        }
      }
    outcomes.append(ProbeOutcome(place, in: time, answer))
    left = further[...] + left.dropFirst()
    askNext()
  }
}

extension ProbeOutcome {
  fileprivate init(
    _ place: ProbedPlace, in duration: Duration, _ result: Result<Answer, UpstreamFailure>
  ) {
    self.init(
      name: place.name, url: place.url, isOfAWS: [.cognitoIdentity, .sts].contains(place.upstream),
      trial: place.trial, duration: duration, result: result)
  }
}
