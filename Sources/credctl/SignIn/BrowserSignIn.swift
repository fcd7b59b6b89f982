import CLinux
import CredCore
import CredctlKit
import Glibc

/// A sign-in by browser, from the daemon's question to its answer.
struct BrowserSignIn {
  let profile: String
  /// The listener; nil if the user must paste the address.
  let listener: BrowserListener?
  /// The commands that may open a browser; empty if the user opens it.
  let browsers: [BrowserCommand]
  /// Sends the browser's response to the daemon. The descriptor is a terminal at which Ctrl-C ends
  /// the wait, or -1.
  let respond: (Answers, CInt) throws(Failure) -> Answer

  /// The input of the user or the browser.
  private enum Arrival {
    case response(Secret, BrowserListener.Visitor?)
    case cancelled
    case overdue
  }

  /// - Parameter expiresIn: seconds.
  func run(_ step: BrowserStep, expiresIn: Int) throws(Failure) -> Answer {
    let deadline = Clock.nanoseconds + Int64(expiresIn) * 1_000_000_000
    let link = try listener?.serve(step)
    guard Terminal.isThere else {
      StandardStream.error.report("credctl: open this link to sign in: \(step.shownURL)\n")
      return try wait(step, link, nil, -1, deadline)
    }
    let terminal = try Terminal()
    let lines = BrowserText.lines(
      step, profile: profile, opens: !browsers.isEmpty && link != nil, listens: listener != nil,
      forwarded: listener.map { ($0.port, HostName.own) })
    // The mode is set first, so that text that is pasted after the prompt is neither shown nor
    // lost.
    return try terminal.whileNothingIsShown { descriptor throws(Failure) in
      terminal.show(lines)
      return try wait(step, link, { terminal.show($0 + "\n") }, descriptor, deadline)
    }
  }

  /// - Parameter say: shows a line; nil without a terminal.
  private func wait(
    _ step: BrowserStep, _ link: String?, _ say: ((String) -> Void)?, _ terminal: CInt,
    _ deadline: Int64
  ) throws(Failure) -> Answer {
    var browser = link.flatMap { startBrowser($0, say) }
    var typed = PasswordLine()
    while true {
      switch try next(step, say, terminal, &typed, &browser, deadline) {
      case .cancelled: throw .signInCancelled
      case .overdue: throw overdue(step)
      case .response(let query, let visitor):
        if let answer = try take(query, visitor, say, terminal) { return answer }
      }
    }
  }

  /// - Returns: nil if the sign-in goes on.
  private func take(
    _ query: Secret, _ visitor: BrowserListener.Visitor?, _ say: ((String) -> Void)?,
    _ terminal: CInt
  ) throws(Failure) -> Answer? {
    var answers = Answers()
    answers.add("response", query)
    do throws(Failure) {
      let answer = try respond(answers, terminal)
      if let visitor { BrowserListener.answer(visitor, page(answer)) }
      return answer
    } catch {
      // The page shows the same message as the terminal.
      if let visitor { BrowserListener.answer(visitor, .failed(error.message)) }
      guard error.handle != nil else { throw error }
      say?(PlainText.oneLine(error.message))
      return nil
    }
  }

  private func page(_ answer: Answer) -> BrowserPage {
    guard answer.reply["Challenge"] == nil else { return .unconfirmed }
    return .signedIn(profile: profile, username: answer.reply["Username"]?.text)
  }

  /// If a provider refuses the redirect URI, the provider shows an error page, and the browser
  /// never comes back.
  private func overdue(_ step: BrowserStep) -> Failure {
    Failure(
      .notPermitted,
      "the time to sign in is over: begin again; if the provider's page spoke of the redirect URI, "
        + "it has to be registered there as \(step.redirectURI)")
  }

  // MARK: Waiting

  private func next(
    _ step: BrowserStep, _ say: ((String) -> Void)?, _ terminal: CInt, _ typed: inout PasswordLine,
    _ browser: inout pid_t?, _ deadline: Int64
  ) throws(Failure) -> Arrival {
    while true {
      let now = Clock.nanoseconds
      guard now < deadline else { return .overdue }
      if credd_noted_end() != 0 { return .cancelled }
      let entries = poll(terminal, until: min(deadline, listener?.deadline ?? deadline), now)
      if terminal >= 0, entries.first?.revents != 0,
        let arrival = try readTerminal(terminal, step, say, &typed)
      {
        return arrival
      }
      for event in listener?.work() ?? [] {
        switch event {
        case .response(let query, let visitor): return .response(query, visitor)
        case .stranger(let uid): say?(Self.warning(uid))
        }
      }
      if let pid = browser, credd_has_failed(pid) == 1 {
        browser = nil
        say?("The browser could not be started: open the link yourself.")
      }
    }
  }

  private static func warning(_ uid: UInt32?) -> String {
    let who = uid.map { "uid \($0)" } ?? "a user whom the kernel does not name"
    return "Warning: \(who) connected to this sign-in, and was refused."
  }

  /// The terminal is the first entry, if there is one.
  private func poll(_ terminal: CInt, until deadline: Int64, _ now: Int64) -> [pollfd] {
    let descriptors = (terminal >= 0 ? [terminal] : []) + (listener?.descriptors ?? [])
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // At most a second, so that the user soon hears of a browser that cannot start.
    let milliseconds = CInt(clamping: min((deadline - now) / 1_000_000 + 1, 1000))
    _ = unsafe Glibc.poll(&entries, nfds_t(entries.count), milliseconds)
    return entries
  }

  /// Reads typed or pasted text byte by byte, because a line can be as long as an address.
  private func readTerminal(
    _ terminal: CInt, _ step: BrowserStep, _ say: ((String) -> Void)?,
    _ typed: inout PasswordLine
  ) throws(Failure) -> Arrival? {
    var bytes = [UInt8](repeating: 0, count: 4096)
    defer { bytes.wipe() }
    let count = unsafe read(terminal, &bytes, bytes.count)
    // If the terminal is gone, so is the user.
    guard count > 0 else { return errno == EINTR || errno == EAGAIN ? nil : .cancelled }
    for byte in bytes[..<count] {
      switch typed.typed(byte) {
      case .more: continue
      case .cancelled: return .cancelled
      case .done(let line):
        typed = PasswordLine()
        if line.bytes.trimmed.isEmpty { continue }
        do throws(InvalidInput) {
          return .response(
            try BrowserReturn.query(
              ofPasted: line, redirectURI: step.redirectURI, state: step.state), nil)
        } catch {
          say?("What was pasted \(error.reason).")
        }
      }
    }
    return nil
  }

  // MARK: The browser

  private func startBrowser(_ link: String, _ say: ((String) -> Void)?) -> pid_t? {
    if let pid = BrowserProgram.start(browsers, link) { return pid }
    if !browsers.isEmpty { say?("No browser could be started: open the link yourself.") }
    return nil
  }
}

/// A browser that was started.
enum BrowserProgram {
  /// Starts the first command that can be started. Other users can see its arguments.
  static func start(_ commands: [BrowserCommand], _ url: String) -> pid_t? {
    for command in commands {
      let words = StringVector(command.words(for: url).map { Array($0.utf8) })
      let pid = unsafe credd_start_program(words.pointers)
      if pid > 0 { return pid }
    }
    return nil
  }
}

/// This host's name, for texts.
enum HostName {
  static var own: String {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "this host" }
    return PlainText.oneLine(
      String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
  }
}
