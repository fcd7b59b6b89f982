import CredCore
import CredctlKit

/// A sign-in that may ask back: it asks the user, until the session is signed in.
///
/// The answers come from the terminal, the first code perhaps from standard input. Without a terminal
/// the sign-in stays open for `credctl respond`.
struct Conversation {
  let client: Client
  let profile: String
  /// For prompts.
  let username: String
  let secret: SecretDelivery
  /// Whether the first code is on standard input.
  var hasCodeOnInput = false
  /// Whether the reply with an open challenge is printed as JSON.
  let showsJSON: Bool

  /// Goes on from the reply to `login`.
  ///
  /// - Returns: the reply with the state of the session.
  mutating func finish(_ first: Answer) throws(Failure) -> Answer {
    var answer = first
    while let challenge = try Challenge(answer.reply) {
      answer = try take(challenge, in: answer)
    }
    return answer
  }

  private mutating func take(_ challenge: Challenge, in answer: Answer) throws(Failure) -> Answer {
    if challenge.step == .code, hasCodeOnInput {
      hasCodeOnInput = false
      return try respondWithInput(to: challenge, answer)
    }
    guard Terminal.isThere else {
      if showsJSON { try answer.print() }
      throw challenge.unanswered
    }
    do throws(Failure) {
      return try ask(challenge)
    } catch {
      // A step that is not known is not left open either.
      if error.endsConversation || error.status == .unavailable { cancel(challenge.handle) }
      throw error
    }
  }

  /// Sends the code that is on standard input.
  private func respondWithInput(
    to challenge: Challenge, _ answer: Answer
  ) throws(Failure) -> Answer {
    var answers = Answers()
    answers.add("code", try SecretText.token(SecretFile.line(), name: "code"))
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

  /// Asks until the daemon takes an answer.
  private func ask(_ challenge: Challenge) throws(Failure) -> Answer {
    let deadline = Clock.nanoseconds + Int64(challenge.expiresIn) * 1_000_000_000
    let question = try Question(challenge, username: username, profile: profile)
    let terminal = try Terminal()
    terminal.show(question)
    while true {
      let answers = try terminal.answers(to: question, until: deadline)
      do throws(Failure) {
        return try respond(to: challenge.handle, answers)
      } catch {
        guard error.handle != nil else { throw error }
        terminal.show(error.line)
      }
    }
  }

  private func respond(to handle: String, _ answers: Answers) throws(Failure) -> Answer {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    request.add(answers)
    return try client.ask(
      request.finished(), for: .session, profile: profile, seconds: WaitLimits.upstream,
      secret: secret)
  }

  /// Ends the sign-in at the daemon. It would end by itself, some minutes later.
  private func cancel(_ handle: String) {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    request.add("cancel", true)
    _ = try? client.ask(request.finished(), for: .session, profile: profile)
  }
}

extension Terminal {
  /// Shows what comes before the first prompt: a heading, the code to scan, the rest.
  func show(_ question: Question) {
    show(question.lines.prefix(1).map { $0 + "\n" }.joined())
    if let uri = question.uri, QRText.isShown(Environment.value(of:)),
      let code = QRCode(uri.bytes),
      let lines = QRText.lines(code.modules, side: code.side, width: width)
    {
      show("\n" + lines.map { $0 + "\n" }.joined() + "\n")
    }
    show(question.lines.dropFirst().map { $0 + "\n" }.joined())
  }

  func answers(to question: Question, until deadline: Int64?) throws(Failure) -> Answers {
    var answers = Answers()
    for item in question.items {
      answers.add(item.name, try answer(to: item, until: deadline), isAttribute: item.isAttribute)
    }
    return answers
  }

  /// Asks until something is typed that can be sent.
  func answer(
    to item: Question.Item, until deadline: Int64? = nil
  ) throws(Failure) -> Secret {
    while true {
      let typed: Secret
      switch item.kind {
      case .secret: typed = try secret(prompt: item.prompt, until: deadline)
      case .newPassword: typed = try newPassword(prompt: item.prompt, until: deadline)
      case .line, .choice, .decision: typed = try line(prompt: item.prompt, until: deadline)
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
