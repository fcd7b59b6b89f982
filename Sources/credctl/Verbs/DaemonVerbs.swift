import ArgumentParser
import CredCore
import CredctlKit
import Glibc

struct Status: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Show sessions: state, identity, when they expire and renew, the last error.",
    discussion: "Without a profile, all of your sessions.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Flag(help: "Every user's sessions; for root and the administrators' group.")
  var all = false

  func run() throws {
    let profile = selection.given
    var pages = StatusPages()
    var hidden: String?
    repeat {
      let answer = try client.ask(request(after: pages.next).finished(), for: .status)
      try pages.add(answer.reply)
      hidden = answer.hidden
      if format.json, pages.isOnePage, profile == nil { return try answer.print() }
    } while pages.next != nil
    if format.json {
      let line = profile.map { StatusReport.line(pages.whole, profile: $0) } ?? pages.line
      return try StandardStream.output.write(line[...])
    }
    let hint = StatusReport.hint(uid: geteuid(), showsAll: all)
    let report = StatusReport(
      pages.whole, profile: profile, hidden: hidden, isRootsAlone: hint != nil,
      now: Clock.wallTime)
    try StandardStream.output.write(report.rendered(on: StandardStream.output.display))
    // A script need not be told.
    if StandardStream.error.isTerminal, !report.isEmpty, let hint {
      StandardStream.error.report("credctl: \(hint)\n")
    }
  }

  private func request(after cursor: String?) -> RequestLine {
    var request = RequestLine(operation: "status")
    if all { request.add("all", true) }
    request.add("limit", StatusPages.size)
    if let cursor { request.add("after", cursor) }
    return request
  }
}

struct Profiles: Verb {
  static let configuration = CommandConfiguration(
    abstract: "List the profiles that are open to you, and how one signs in to each.",
    discussion: """
      The ways to sign in: host (nothing to do), password, browser, paste (a browser elsewhere), \
      device (a code on another device), token (a developer token), logins (tokens of other \
      providers). For a derived profile they are those of its source.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    let answer = try client.profiles()
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(
      ProfileList.rendered(answer.reply, on: StandardStream.output.display))
    // Scripts read the table alone.
    guard StandardStream.output.isTerminal, let hidden = answer.hidden else { return }
    StandardStream.error.report("credctl: \(hidden)\n")
  }
}

struct Watch: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print what happens to sessions as it happens, until it is interrupted.",
    discussion:
      "It ends too when the reader of its output is gone, as in 'credctl watch | head -1'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    let profile = selection.given
    let request = RequestLine(operation: "watch", profile: profile)
    try client.follow(request.finished(), for: .event, profile: profile) { event throws(Failure) in
      guard !format.json else { return try event.print() }
      guard let line = EventLine.text(of: event.reply, now: Clock.wallTime) else { return }
      try StandardStream.output.write(line + "\n")
    }
  }
}

struct Metrics: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Print what credd counts, in Prometheus' classic text format.",
    discussion: "For root, the members of admin_group, and metrics_users.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption

  @Flag(help: "Leave out what names profiles, for a file that all users may read.")
  var noProfiles = false

  func run() throws {
    let answer = try client.ask(RequestLine(operation: "metrics").finished(), for: .metrics)
    let text = answer.lines(of: "Metrics")
    try StandardStream.output.write(noProfiles ? MetricsFilter.withoutProfiles(text) : text)
  }
}

struct Check: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Try each step of a sign-in: whether servers answer, and whether the session renews.",
    discussion: """
      Signs nobody in. Once a minute for each profile; at any time for root, after a reload and \
      after a sign-in; 5 seconds after a check that failed. Addresses, certificates and what \
      servers said are shown to root and the administrators' group. Ends with 77 where the user \
      has to sign in or to ask for access, with 69 where another step failed.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Flag(help: "The servers of all profiles; for root and the administrators' group.")
  var allProfiles = false

  private static let longest = 120

  func validate() throws {
    guard !allProfiles || selection.given == nil else {
      throw ValidationError("'--all-profiles' and a profile exclude each other")
    }
  }

  func run() throws {
    var request = RequestLine(
      operation: "check", profile: allProfiles ? nil : selection.name)
    if allProfiles { request.add("all", true) }
    let answer = try ask(request)
    let report = report(answer.reply)
    if format.json {
      try StandardStream.output.write(report.line[...])
    } else {
      try StandardStream.output.write(report.rendered(on: StandardStream.output.display))
    }
    if let failure = report.failure { throw failure }
  }

  /// Root need not use a profile to learn whether its servers answer.
  private func ask(_ request: RequestLine) throws(Failure) -> Answer {
    do {
      return try client.ask(
        request.finished(), for: .check, profile: selection.given, seconds: Self.longest)
    } catch {
      throw error.namingCheckOfAll
    }
  }

  /// What credd says, and what it cannot know.
  private func report(_ reply: JSONValue) -> CheckReport {
    let report = CheckReport(reply)
    let files = EndpointFiles()
    guard !report.has(EndpointUnit.step), client.isOfSystem, files.isEnabled else { return report }
    var request = RequestLine(operation: "status")
    request.add("limit", 1)
    guard let status = try? client.ask(request.finished(), for: .status).reply else {
      return report
    }
    return CheckReport(reply, own: EndpointUnit.problem(status, holder: files.holder))
  }
}

struct Ping: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Check that credd answers; print its version and process.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Option(
    help: ArgumentHelp(
      "Give up after this many seconds. (default: \(WaitLimits.ping))", valueName: "seconds"))
  var timeout: String?

  func run() throws {
    let answer = try client.ask(
      RequestLine(operation: "ping").finished(), for: .daemon,
      seconds: timeout.map(WaitLimits.pingTimeout) ?? WaitLimits.ping)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.daemon + "\n")
  }
}
