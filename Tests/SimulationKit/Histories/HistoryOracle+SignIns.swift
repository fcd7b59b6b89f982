import CredCore
import CredService

/// Judges sign-ins that ask back, and what is given of a user pool.
extension HistoryRun {
  /// - Parameter code: of a refusal.
  func judgeSignIn(
    _ json: JSONValue, _ code: String?, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    switch line.request {
    case .respond: judgeAnswer(code, line, client)
    case .token: judgeKind(json["Token"]?.text, line)
    default: break
    }
    if let open = json["Error"]?["Handle"]?.text, line.handle?.text != open {
      world.violate(
        .neverForeign, "line \(line.number) names a handle that it did not ask about")
    }
    if code == nil { noteEndOfDevices(line, client.user) }
    noteHandle(json["Challenge"], line, client)
    // Who waits for what is typed elsewhere asks again.
    if case .respond(_, .wait, _) = line.request, json["Challenge"] != nil,
      line.handle?.device != nil, world.random.happens(0.85)
    {
      react(line.handle?.claim ?? .own, client, .wait)
    }
    if code != nil {
      judgeStep(json, line)
      tryAgain(json, line, client)
    }
  }

  /// Most people who mistype an answer type it again.
  private func tryAgain(_ json: JSONValue, _ line: HistoryClient.Line, _ client: HistoryClient) {
    guard json["Error"]?["Handle"] != nil, line.handle?.claim == .own,
      case .respond(.own, .answers, _) = line.request, world.random.happens(0.5)
    else { return }
    world.inProcess(after: 5 * world.random.fraction()) { [self] in
      send(.respond(.own, .answers, isGood: world.random.happens(0.8)), clients[client.number])
    }
  }

  /// A handle works for those whom its question was asked.
  private func judgeAnswer(
    _ code: String?, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    // Over a socket with a cap nobody signs in.
    if client.isCapped, code == "AccessDenied" { return }
    let users = believed(client.user, line)
    guard let handle = line.handle, handle.user == client.user else {
      if code == "UnknownChallenge" { return }
      return world.violate(
        .neverForeign,
        "\(client.name) named a handle of another user and got \(code ?? "an answer")")
    }
    guard code == nil, handle.persons.isDisjoint(with: users) else { return }
    world.violate(
      .neverForeign,
      "the handle of \(handle.persons.sorted()) worked for \(users.sorted())")
  }

  /// No token of a user pool is handed out that the profile does not name.
  private func judgeKind(_ text: String?, _ line: HistoryClient.Line) {
    guard let number = text.flatMap({ HistorySecret.numbers(in: $0.utf8).last ?? nil }),
      let given = upstreams.pools.given[number], lastReload < line.start,
      let profile = line.profile.flatMap(host.configuration.profile)
    else { return }
    let isAllowed =
      switch given.kind {
      case .id: profile.vended.contains("id")
      case .access: profile.vended.contains("account")
      case .refresh, .session: false
      }
    guard !isAllowed else { return }
    world.violate(.admitted, "line \(line.number) got a token of kind \(given.kind)")
  }

  private func noteHandle(
    _ challenge: JSONValue?, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    guard let text = challenge?["Handle"]?.text, let profile = line.profile else { return }
    if handles.contains(where: { $0.text == text && $0.user != client.user }) {
      return world.violate(
        .neverForeign, "\(client.name) was told a handle of another user")
    }
    guard !handles.contains(where: { $0.text == text }) else { return }
    var (person, claim) = (line.handle?.person, line.handle?.claim ?? .own)
    if case .password(_, let claimed) = line.request {
      (person, claim) = (people.holder(of: client.user)?.number, claimed)
    }
    if line.request.accountNumber != nil { person = people.holder(of: client.user)?.number }
    guard let person else { return }
    var answers: [String] = []
    if case .array(let names) = challenge?["Answers"] { answers = names.compactMap(\.text) }
    let device = upstreams.pools.device(challenge?["Parameters"]?["UserCode"]?.text)
    handles.append(
      HistoryHandle(
        text: text, user: client.user, persons: believed(client.user, line), person: person,
        profile: profile, claim: claim, answers: answers,
        url: device == nil ? challenge?["Parameters"]?["Url"]?.text : nil, device: device,
        name: challenge?["Name"]?.text,
        app: challenge?["Parameters"]?["Secret"]?.text.flatMap {
          HistorySecret.numbers(in: $0.utf8, after: HistorySecret.app).first ?? nil
        },
        account: (challenge?["Parameters"]?["Subject"]?.text)
          .flatMap(HistoryAccounts.Account.init(subject:))))
    if let device { typeLater(device, person, claim) }
    if world.random.happens(0.9) { react(claim, client, device == nil ? .answers : .wait) }
  }

  /// Most people answer what they are asked, within seconds. A thief is as quick.
  private func react(_ claim: Claim, _ client: HistoryClient, _ input: ChallengeInput) {
    let isThief = world.random.happens(0.2)
    let isGood = world.random.happens(0.9)
    let others = clients.values.filter { $0.user != client.user }.map(\.number).sorted()
    let number = isThief ? others.randomElement(using: &world.random) : client.number
    guard let number, isThief || claim != .others else { return }
    world.inProcess(after: 5 * world.random.fraction()) { [self] in
      send(.respond(isThief ? .others : .own, input, isGood: isGood), clients[number])
    }
  }

  /// Who watches learns that there is a question, not how to answer it.
  func judgeChallengeEvent(_ json: JSONValue, _ client: HistoryClient) {
    guard json["Event"]?.text == "challenge", json["Handle"] != nil || json["Challenge"] != nil
    else { return }
    world.violate(.secretsStay, "\(client.name) watches and was told a handle")
  }
}
