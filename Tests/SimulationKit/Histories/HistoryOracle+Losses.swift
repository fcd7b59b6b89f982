import CredCore
import CredService

/// Judges what the daemon has lost: a sign-in, credentials or a device that nothing has ended.
extension HistoryRun {
  // MARK: Outages

  /// An outage signs nobody out, and drops no credentials that are valid.
  func judgeLoss(
    _ code: String, _ profile: String, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    guard case .get(_, let members) = line.request,
      profile != HistoryConfiguration.Derived.name
    else { return }
    if code == "SignInRequired", signIns.isSignedIn(client.user, profile, since: line.start) {
      world.violate(
        .neverDropped,
        "\(client.name) is signed in to \(profile), nothing has ended that, and got \(code)")
    }
    guard Self.codesOfOutages.contains(code), !members.contains("refresh"),
      !members.contains("min_ttl"),
      let held = expectations.credentials(of: client.user, in: profile), held.since < line.start,
      held.keys.ends > world.now + Self.leastTimeLeft, !upstreams.haveReplaced(held)
    else { return }
    world.violate(
      .neverDropped,
      "\(client.name) was given keys \(held.number) of \(profile), which are valid, and got \(code)"
    )
  }

  private static let codesOfOutages = [
    "BackendUnavailable", "CognitoUnavailable", "Throttled", "Timeout",
  ]

  /// Programs that do not get new credentials in an outage take those that there are.
  func askAgain(_ code: String, _ line: HistoryClient.Line, _ client: HistoryClient) {
    guard case .get(let profile, _) = line.request, Self.codesOfOutages.contains(code),
      world.random.happens(0.4)
    else { return }
    world.inProcess(after: 2 * world.random.fraction()) { [self] in
      send(.get(profile: profile, members: #","wait":0"#), clients[client.number])
    }
  }

  /// What lasts less may count as over: credd does not see the true time.
  private static let leastTimeLeft = Duration.seconds(60)

  /// Credentials were given to a client for its own user.
  func noteCredentials(
    _ number: Int, _ keys: HistoryUpstreams.Keys, _ line: HistoryClient.Line,
    _ client: HistoryClient
  ) {
    // What is derived ends with what happens to its source.
    guard case .get = line.request, let profile = line.profile, lastReload < line.start,
      keys.source == nil,
      people.possible(client.user, from: line.start).count == 1
    else { return }
    expectations.gave(
      HistoryExpectations.Credentials(number: number, keys: keys, since: world.now),
      to: client.user, in: profile, askedAt: line.start)
  }

  // MARK: Devices and second factors

  /// - Parameter json: a refusal of a step of a sign-in.
  func judgeStep(_ json: JSONValue, _ line: HistoryClient.Line) {
    let error = json["Error"]
    guard error?["Code"]?.text == "SignInFailed" else { return }
    let message = error?["Message"]?.text ?? ""
    // A device code whose tokens were lost on their way is another matter.
    if message.contains("device"), !message.contains("device code") {
      world.violate(
        .neverDropped,
        "line \(line.number): a sign-in failed because the pool has forgotten its device")
    }
    let reason = error?["Reason"]?.text
    let isWrongCode = reason == "CodeMismatchException" || reason == Self.wrongAppCode
    guard isWrongCode, let handle = line.handle else { return }
    wrongCodes[handle.text, default: 0] += 1
    if error?["Handle"] == nil, wrongCodes[handle.text, default: 0] < Self.leastTries {
      world.violate(
        .neverDropped, "line \(line.number): a wrong code has ended the sign-in")
    }
    if reason == Self.wrongAppCode, handle.app != nil, handle.claim != .others,
      case .respond(_, .answers, isGood: true) = line.request
    {
      world.violate(
        .neverDropped,
        "line \(line.number): the code of the app that was shown does not fit")
    }
  }

  private static let wrongAppCode = "EnableSoftwareTokenMFAException"
  /// A sign-in takes more wrong answers, of all of its questions.
  private static let leastTries = 5

  /// A user has signed in. From now on the daemon names the device, if it is to remember it and the
  /// pool takes it in place of a code.
  func noteDevice(_ line: HistoryClient.Line, _ client: HistoryClient) {
    switch line.request {
    case .password(_, .own): break
    case .respond(.own, .answers, _) where line.handle?.claim == .own: break
    default: return
    }
    guard let pool = line.profile.flatMap(host.configuration.userPool), pool.remembers == .yes,
      let person = people.holder(of: client.user)?.number, lastReload < line.start,
      people.possible(client.user, from: line.start).count == 1,
      // After a sleep the daemon waits no longer for the pool's word about the device.
      world.awakeSince < line.start
    else { return }
    let user = HistoryUserPools.User(server: pool.server, person: person)
    if upstreams.pools.remembersDevice(ofLatestSignInOf: user) {
      expectations.signedInWithDevice(user, by: line, of: client.user, at: world.now)
    }
  }

  /// A sign-in begins at a pool without a device.
  func judgeStart(of user: HistoryUserPools.User) {
    let since = world.now - Self.signInTime
    // What was sent before a sleep arrives after it.
    guard world.awakeSince < since, expectations.knowsDevice(of: user, since: since),
      lastForeignLogin < since,
      upstreams.wasWell(since: since)
    else { return }
    world.violate(
      .neverDropped, "\(user) signs in without the device that the daemon has")
  }

  /// How long it may take from a request to its last call upstream, and more.
  private static let signInTime = Duration.seconds(90)
}

extension HistoryUpstreams {
  /// Whether newer credentials of the same identity were given: perhaps these ended sooner.
  fileprivate func haveReplaced(_ held: HistoryExpectations.Credentials) -> Bool {
    keys.contains {
      $0.key > held.number && $0.value.identity == held.keys.identity && $0.value.source == nil
    }
  }
}
