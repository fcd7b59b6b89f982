import CredCore
import CredService

/// Device codes of providers (RFC 8628). A person types the short code elsewhere, and the daemon asks for
/// the tokens meanwhile.
extension HistoryUserPools {
  /// A device code, with what became of it.
  struct Device {
    /// What its person said at the provider.
    enum Word { case none, approved, denied }
    /// What the daemon was told last.
    enum Answer { case wait, slowDown, ended }

    let server: String
    let client: String
    let ends: Instant
    /// Seconds between two questions, as the daemon knows it.
    var interval = 5.0
    var lastAsked: Instant?
    var word = Word.none
    var person: Int?
    /// The sign-in that came of it; nil before.
    var family: Int?
    /// On its way to the daemon.
    var answer: Answer?
    /// Whether the daemon knows that it has ended.
    var isAnswered = false
    let began: Instant
    /// Until when the daemon may ask: while a client waits, and a minute more.
    var askedUntil: Instant
    /// When its sign-in ended otherwise, by a logout or another sign-in.
    var abandoned: Instant?
  }

  /// The daemon counts the life of a code from the reply that brought it, which may be slow.
  private static let longestReply = Duration.seconds(4)
  /// How much later than allowed a question may arrive: it may have been on its way.
  private static let slack = Duration.seconds(2)

  // MARK: People

  /// The short code that a person types.
  static func userCode(_ number: Int) -> String { "CODE-\(number)" }

  func device(_ userCode: String?) -> Int? {
    userCode.flatMap { $0.hasPrefix("CODE-") ? Int($0.dropFirst(5)) : nil }
      .flatMap { devices[$0] == nil ? nil : $0 }
  }

  /// A person has typed the code.
  func type(_ device: Int, _ person: Int, _ word: Device.Word) {
    devices[device]?.person = person
    devices[device]?.word = word
  }

  /// Its sign-in has ended at the daemon.
  func abandon(_ device: Int) {
    guard devices[device]?.abandoned == nil else { return }
    devices[device]?.abandoned = world.now
  }

  // MARK: Requests

  func startDevice(_ body: JSONValue?, _ server: String) -> HTTPReply {
    let number = upstreams.nextNumber()
    let lifetime = world.random.pick([45, 300])
    devices[number] = Device(
      server: server, client: body?["ClientId"]?.text ?? "",
      ends: world.later(Double(lifetime)), began: world.now, askedUntil: world.now)
    let code = Self.userCode(number)
    return .plain(
      200,
      #"{"device_code":"\#(HistorySecret.text(number))","user_code":"\#(code)","#
        + #""verification_uri":"https://\#(server).example.com/activate","#
        + #""expires_in":\#(lifetime),"interval":5}"#)
  }

  /// A device code is good once.
  func poll(_ body: JSONValue?, _ server: String) -> HTTPReply {
    guard let number = body?["DeviceCode"].flatMap(number), let device = devices[number],
      device.server == server, device.client == body?["ClientId"]?.text
    else { return .refusedGrant }
    judgePoll(device, number)
    devices[number]?.lastAsked = world.now
    devices[number]?.answer = .ended
    guard device.family == nil else { return .refusedGrant }
    guard device.ends > world.now else { return .oauth("expired_token") }
    switch device.word {
    case .denied: return .oauth("access_denied")
    case .approved:
      let user = User(server: server, person: device.person ?? 0)
      let (family, refresh) = begin(user)
      devices[number]?.family = family
      tokensAreOnTheirWay(number)
      return tokens(user, family, refresh: refresh, client: device.client)
    case .none:
      let isSlowed = world.random.happens(0.15)
      devices[number]?.answer = isSlowed ? .slowDown : .wait
      return .oauth(isSlowed ? "slow_down" : "authorization_pending")
    }
  }

  /// The reply to a question has arrived, or is lost.
  func deviceAnswered(_ body: JSONValue?, isLost: Bool) {
    guard let number = body?["DeviceCode"].flatMap(number), let answer = devices[number]?.answer
    else { return }
    devices[number]?.answer = nil
    guard !isLost else { return }
    if answer == .slowDown { devices[number]?.interval += 5 }
    if answer == .ended { devices[number]?.isAnswered = true }
    guard let family = devices[number]?.family, devices[number]?.abandoned != nil else { return }
    unwanted.insert(family)
  }

  // MARK: Judgements

  private func judgePoll(_ device: Device, _ number: Int) {
    let name = Self.userCode(number)
    if let last = device.lastAsked, world.now < last + .seconds(1) * (device.interval - 0.5) {
      world.violate(
        .withinRate,
        "\(name) is asked for \(world.now - last) after the last time, and not \(device.interval) s"
      )
    }
    // A question may go out as the host awakes.
    let late = max(world.now - Self.slack, world.awakeSince)
    guard world.now > world.awakeSince + Self.slack else { return }
    if device.isAnswered {
      world.violate(.usedOnce, "\(name) is asked for after its end")
    } else if device.ends + Self.longestReply < late {
      world.violate(.boundedCalls, "\(name) is asked for after it ran out")
    } else if device.askedUntil < late {
      world.violate(.boundedCalls, "\(name) is asked for and nobody waits")
    } else if let end = device.abandoned, end < late {
      world.violate(.boundedCalls, "\(name) is asked for after its sign-in ended")
    }
  }

  /// Tokens that came for a sign-in that had ended are nobody's.
  func judgeUse(of number: Int) {
    guard let given = given[number], unwanted.contains(given.family) else { return }
    world.violate(
      .neverForeign,
      "a token of \(given.user.name) is used whose sign-in had ended before it came")
  }
}

extension HTTPReply {
  static func oauth(_ error: String) -> HTTPReply { plain(400, #"{"error":"\#(error)"}"#) }
}

// MARK: - People and clients

extension HistoryRun {
  /// The person who began it types the code elsewhere, or does not. Nobody types it for another.
  func typeLater(_ device: Int, _ person: Int, _ claim: Claim) {
    let word: HistoryUserPools.Device.Word =
      switch claim {
      case .own: world.random.pick([.approved, .approved, .approved, .approved, .denied, .none])
      case .bad: .denied
      case .others: .none
      }
    guard word != .none else { return }
    world.after(world.random.pick([1, 10, 60]) * world.random.fraction()) { [self] in
      world.trace("· h\(person) types \(HistoryUserPools.userCode(device)): \(word)")
      upstreams.pools.type(device, person, word)
    }
  }

  /// The tokens of a device code are on their way. Some give up just then, at another terminal.
  func giveUp(_ device: Int) {
    guard world.random.happens(0.3), let user = handles.last(where: { $0.device == device })?.user
    else { return }
    let idle = clients.values.filter { $0.user == user && $0.current == nil && !$0.watches }
    guard let other = idle.min(by: { $0.number < $1.number }) else { return }
    world.inProcess(after: 0) { [self] in send(.respond(.own, .cancel, isGood: true), other) }
  }

  /// Until when the provider may be asked because of a line. Look-ups of the caller come first.
  func allowPolling(for line: HistoryClient.Line) {
    guard case .respond(_, .wait, _) = line.request, let device = line.handle?.device else {
      return
    }
    let until = world.later(Self.deviceWait + 60 + 30)
    let known = upstreams.pools.devices[device]?.askedUntil ?? until
    upstreams.pools.devices[device]?.askedUntil = max(known, until)
  }

  /// Seconds that a client waits for what its user types.
  static let deviceWait = 20.0

  /// A line has ended sign-ins by device code. What began after it was sent may go on.
  func noteEndOfDevices(_ line: HistoryClient.Line, _ user: Int) {
    switch line.request {
    case .respond(_, .cancel, _): line.handle?.device.map { upstreams.pools.abandon($0) }
    case .logout, .password, .hostLogin, .clear(_, identity: true):
      for handle in handles where handle.user == user && handle.profile == line.profile {
        guard let device = handle.device, let began = upstreams.pools.devices[device]?.began,
          began < line.start
        else { continue }
        upstreams.pools.abandon(device)
      }
    default: break
    }
  }
}
