import CLinux
import CredCore
import CredctlKit

/// A sign-in with questions: asks the user until the session is signed in.
///
/// The answers come from the terminal, the first code perhaps from standard input. Without a terminal
/// the sign-in stays open for `credctl respond`.
struct Conversation {
  let client: Client
  let profile: String
  /// The user name in prompts.
  let username: String
  let secret: SecretDelivery
  /// Whether the first code is on standard input.
  var hasCodeOnInput = false
  /// Whether the reply with an open challenge is printed as JSON.
  let showsJSON: Bool
  let hasQRCode: Bool
  /// The means of a sign-in by browser; nil if the request did not ask for one.
  var browser: BrowserMeans?

  /// Goes on from the reply to `login`.
  ///
  /// - Returns: the reply with the state of the session.
  mutating func finish(_ first: Answer) throws(Failure) -> Answer {
    var answer = first
    while let challenge = try Challenge(answer.reply) {
      // From here on, there is something to clean up if a signal comes.
      credd_note_ends()
      answer = try take(challenge, in: answer)
    }
    return answer
  }

  private mutating func take(_ challenge: Challenge, in answer: Answer) throws(Failure) -> Answer {
    let isOnInput = challenge.step == .code && hasCodeOnInput
    let isInBrowser = challenge.step.isBrowser && browser?.isWanted ?? false
    guard isOnInput || Terminal.isThere || isInBrowser else {
      if showsJSON { try answer.print() }
      throw challenge.unanswered
    }
    do throws(Failure) {
      switch challenge.step {
      case .browser(let step): return try browse(step, challenge)
      case .device(let step): return try waitForDevice(step, challenge)
      case .code where isOnInput:
        hasCodeOnInput = false
        return try respondWithInput(to: challenge, answer)
      default: return try ask(challenge)
      }
    } catch {
      let signal = credd_take_noted_end()
      // A sign-in at an unknown step is not left open either.
      if error.endsConversation || error.status == .unavailable { cancel(challenge.handle) }
      if signal != 0 { credd_end_by(signal) }
      throw error
    }
  }

  /// Sends the code that is on standard input.
  private func respondWithInput(
    to challenge: Challenge, _ answer: Answer
  ) throws(Failure) -> Answer {
    var answers = Answers()
    answers.add("code", try SecretText.token(SecretInput.line(), name: "code"))
    do throws(Failure) {
      return try respond(to: challenge.handle, answers)
    } catch {
      guard error.handle != nil else { throw error }
      guard Terminal.isThere else {
        if showsJSON { try answer.print() }
        throw error.advisingAnswer(challenge)
      }
      try Terminal().show(error.line)
      return try ask(challenge)
    }
  }

  /// Asks until the daemon accepts an answer.
  private func ask(_ challenge: Challenge) throws(Failure) -> Answer {
    let deadline = Clock.nanoseconds + Int64(challenge.expiresIn) * 1_000_000_000
    let question = try Question(challenge, username: username, profile: profile)
    let terminal = try Terminal()
    terminal.show(question, hasQRCode: hasQRCode)
    var refused = 0
    while true {
      let answers = try terminal.answers(to: question, until: deadline)
      if challenge.step == .confirm, !answers.consents {
        cancel(challenge.handle)
        throw Failure(.notPermitted, "the sign-in was not confirmed: nothing has changed")
      }
      do throws(Failure) {
        return try respond(to: challenge.handle, answers)
      } catch {
        guard error.handle != nil else { throw error }
        refused += 1
        terminal.show(error.advisingClock(challenge, refused: refused).line)
      }
    }
  }

  private func respond(
    to handle: String, _ answers: Answers, watching terminal: CInt = -1
  ) throws(Failure) -> Answer {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    request.add(answers)
    return try client.ask(
      request.finished(), for: .session, profile: profile, seconds: WaitLimits.upstream,
      secret: secret, watching: terminal)
  }

  private func browse(_ step: BrowserStep, _ challenge: Challenge) throws(Failure) -> Answer {
    let signIn = BrowserSignIn(
      profile: profile, listener: browser?.listener, browsers: browser?.commands ?? []
    ) { answers, terminal throws(Failure) in
      try respond(to: challenge.handle, answers, watching: terminal)
    }
    return try signIn.run(step, expiresIn: challenge.expiresIn)
  }

  /// Shows the code, and waits while the daemon asks the provider.
  private func waitForDevice(
    _ step: DeviceStep, _ challenge: Challenge
  ) throws(Failure) -> Answer {
    let deadline = Clock.nanoseconds + Int64(challenge.expiresIn) * 1_000_000_000
    let terminal = try Terminal()
    let lines = { step.lines(profile: profile, host: HostName.own, hasQRCode: $0) }
    let code = hasQRCode ? terminal.code(of: Array(step.scanned.utf8), above: lines(true)) : nil
    return try terminal.whileNothingIsShown { descriptor throws(Failure) in
      terminal.show(code ?? "")
      terminal.show(lines(code != nil))
      while true {
        let left = Int((deadline - Clock.nanoseconds) / 1_000_000_000)
        guard left > 0 else {
          throw Failure(.notPermitted, "the time to sign in is over: begin again for a new code")
        }
        let answer = try waitOn(
          challenge.handle, min(left, WaitLimits.longestWait), descriptor)
        // The same question comes again: the daemon's wait is over, but the user may still act.
        guard let next = try Challenge(answer.reply), next.handle == challenge.handle else {
          return answer
        }
      }
    }
  }

  private func waitOn(
    _ handle: String, _ seconds: Int, _ terminal: CInt
  ) throws(Failure) -> Answer {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    request.add("wait", seconds)
    return try client.ask(
      request.finished(), for: .session, profile: profile,
      seconds: seconds + WaitLimits.upstream, watching: terminal)
  }

  /// Ends the sign-in at the daemon. Otherwise it would end by itself some minutes later.
  private func cancel(_ handle: String) {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    request.add("cancel", true)
    _ = try? client.ask(request.finished(), for: .session, profile: profile)
  }
}

extension Terminal {
  /// Shows the text before the first prompt: the code to scan, then the lines, which stay on the screen.
  func show(_ question: Question, hasQRCode: Bool) {
    if hasQRCode, let uri = question.uri {
      show(code(of: uri.bytes, above: question.lines + question.items.map(\.prompt)) ?? "")
    }
    show(question.lines)
  }

  /// Shows lines that are no wider than the terminal.
  func show(_ lines: [String]) {
    show(TerminalText.wrapped(lines, to: size?.columns).map { $0 + "\n" }.joined())
  }

  /// A QR code of the text; nil if the terminal cannot show it together with the lines that follow it.
  func code(of text: [UInt8], above lines: [String]) -> String? {
    guard TerminalText.showsQRCodes(Environment.value(of:)), let code = QRCode(text),
      let rows = QRText.lines(code.modules, side: code.side, above: lines, on: size)
    else { return nil }
    return rows.map { $0 + "\n" }.joined() + "\n"
  }

  func answers(to question: Question, until deadline: Int64?) throws(Failure) -> Answers {
    var answers = Answers()
    for item in question.items {
      answers.add(item.name, try answer(to: item, until: deadline), isAttribute: item.isAttribute)
    }
    return answers
  }

  /// Asks until the user types an answer that can be sent.
  func answer(
    to item: Question.Item, until deadline: Int64? = nil
  ) throws(Failure) -> Secret {
    while true {
      let typed: Secret
      switch item.kind {
      case .secret: typed = try secret(prompt: item.prompt, until: deadline)
      case .newPassword: typed = try newPassword(prompt: item.prompt, until: deadline)
      case .line, .choice, .decision, .consent:
        typed = try line(prompt: item.prompt, until: deadline)
      }
      do throws(Question.Item.Mistake) {
        return try item.answer(for: typed)
      } catch {
        show(error.text + "\n")
      }
    }
  }

  /// Asks for a new password twice, until both are the same.
  func newPassword(prompt: String, until deadline: Int64? = nil) throws(Failure) -> Secret {
    while true {
      let first = try secret(prompt: prompt, until: deadline)
      let second = try secret(prompt: "The same again: ", until: deadline)
      if first == second { return first }
      show("The two passwords differ.\n")
    }
  }
}
