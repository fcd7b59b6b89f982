internal import CLinux
public import CredCore
internal import Glibc

/// Opens the files that a configuration names, for `--check-config`. It does this as the daemon's
/// user, if this process may become that user. At a reload, the daemon itself opens the files that
/// no other process sees.
public struct ConfigurationInspection {
  /// What was read, with the diagnostics of the reading.
  public let reading: ConfigurationReading
  /// The folder of the service's credentials, if this process cannot see its files; nil if it can.
  private let credentials: String?
  private let scope: Scope
  /// Whether the daemon serves the person who runs it alone.
  private let isOwn: Bool
  private let user: ServiceUser
  /// Why policies' files were not looked at, by their paths.
  private let unseenPolicies: [String: String]
  var nameCheck: NameCheck
  private var files = BoundedWait()
  public private(set) var diagnostics: [Diagnostic] = []
  /// The checks that could not be made, each with the reason.
  public internal(set) var unchecked: [String] = []

  /// Reads the configuration, too, and the files of policies as the daemon's user.
  ///
  /// - Parameters:
  ///   - line: names the configuration.
  ///   - credentials: the folder that `${CREDENTIALS_DIRECTORY}` was assumed to be.
  ///   - neighbours: the daemon's other sockets.
  /// - Throws: if a file of the configuration cannot be read.
  public init(
    of line: DaemonCommandLine, credentials: String?, beside neighbours: SocketNeighbours
  ) throws(SystemError) {
    let path = line.config
    let sources = try ConfigurationFiles.sources(of: path)
    var names = BoundedWait()
    user = ServiceUser(becoming: &names)
    nameCheck = NameCheck(.host, names)
    let policies = PolicyCheck(user, credentials: credentials)
    reading = ConfigurationFiles.read(sources, policyFile: policies.read, beside: neighbours)
    unseenPolicies = policies.unseen
    self.credentials = credentials
    scope = .everything
    isOwn = OwnConfiguration.isOf(line)
    if let problem = user.unchecked { unchecked.append(problem) }
    checkReading(of: path)
    for file in ConfigurationFiles.unread(beside: path) {
      guard files.wait(for: { FileFacts(file).kind == S_IFREG }) ?? false else { continue }
      diagnostics.append(
        Diagnostic(
          severity: .warning, message: "\(file) is not read: its name does not end in '.conf'"))
    }
  }

  private init(_ reading: ConfigurationReading, _ scope: Scope) {
    self.reading = reading
    credentials = nil
    self.scope = scope
    isOwn = false
    user = ServiceUser()
    unseenPolicies = [:]
    nameCheck = NameCheck(.host, BoundedWait())
  }

  /// What is looked at.
  private enum Scope: Equatable {
    case everything
    /// The files within this folder.
    case files(within: String)
    /// The other files that are there. One that is not may come before it is needed, unless systemd
    /// would have loaded it.
    case contents(outside: String?)

    /// Of a file that cannot be opened. One that is not needed yet ends no daemon.
    var severityOfFiles: Diagnostic.Severity {
      if case .contents = self { .warning } else { .error }
    }

    /// Of a content that is of no use. The daemon goes on: other profiles do not need the file.
    var severityOfContents: Diagnostic.Severity { self == .everything ? .error : .warning }
  }

  /// The faults of the files that systemd gave to the service, for a reload of the daemon itself: errors
  /// where one cannot be opened, else warnings.
  static func ofCredentials(_ reading: ConfigurationReading) -> [Diagnostic] {
    guard let folder = ServiceDirectory.credentials else { return [] }
    return inspected(reading, .files(within: folder))
  }

  /// Warnings of files that are of no use, for the daemon's start and its reload: each call that
  /// needs such a file will fail.
  ///
  /// - Parameter folder: files in this folder are left out.
  static func ofContents(
    _ reading: ConfigurationReading, outside folder: String? = nil
  ) -> [Diagnostic] {
    inspected(reading, .contents(outside: folder)).inReadingOrder
  }

  private static func inspected(_ reading: ConfigurationReading, _ scope: Scope) -> [Diagnostic] {
    var inspection = ConfigurationInspection(reading, scope)
    inspection.checkSections(reading.understood)
    return inspection.diagnostics
  }

  /// Root has read the configuration; can the daemon's user? Another file than the host's may be a draft.
  private mutating func checkReading(of path: String) {
    guard user.became else { return }
    let isHosts = path == DaemonCommandLine.hostConfig
    for refusal in ConfigurationFiles.refusals(of: path, to: ReadAccess(user: ServiceUser.name)) {
      diagnostics.append(Diagnostic(severity: isHosts ? .error : .warning, message: refusal))
    }
  }

  public mutating func run() {
    let configuration = reading.understood
    checkNames(configuration)
    checkSections(configuration)
    for (_, socket) in configuration.sockets.sorted(by: { $0.key < $1.key }) {
      check(socket)
      guard configuration.daemon.exitOnIdle != nil else { continue }
      unchecked.append("daemon: exit_on_idle: whether systemd passes \(socket.title)")
    }
  }

  private mutating func checkSections(_ configuration: Configuration) {
    for (_, backend) in configuration.backends.sorted(by: { $0.key < $1.key }) { check(backend) }
    for (_, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) { check(profile) }
  }

  // MARK: Sections

  private mutating func check(_ backend: BackendSettings) {
    var setting = Setting(section: "backend \(backend.name)")
    for file in backend.kind.namedFiles {
      switch file.content {
      case .secret(let text): check(file.path, .secret(text), &setting, file.key)
      case .pem(let block): check(file.path, .pem(block), &setting, file.key)
      case .authorities: check(file.path, .authorities, &setting, file.key)
      case .program: checkProgram(file.path, &setting, file.key)
      case .socket: checkSocket(file.path, &setting, file.key)
      }
    }
    if let identity = backend.kind.clientIdentity { check(identity, &setting) }
    if scope == .everything || looksAtContentsAlone {
      backend.kind.valueKeys.forEach { checkValue(of: $0, &setting) }
    }
  }

  /// A value that stands in the configuration itself. credd cannot tell whether it is a secret.
  private mutating func checkValue(of key: String, _ setting: inout Setting) {
    setting.key = key
    guard let path = reading.position(of: key, in: setting.section)?.file, isWanted(path),
      look(at: path, setting, { FileFacts(path).isOpenToAll }) ?? false
    else { return }
    let family = key.prefix { $0 != "." }
    warn(
      setting,
      "every user of this host can read this value: if it is a secret, 'chmod o-r' \(path), or write it to "
        + "a file of its own, and name that by '\(family)_file\(key.dropFirst(family.count))'")
  }

  private mutating func check(_ profile: ProfileSettings) {
    var setting = Setting(section: "profile \(profile.name)")
    if profile.way.readsPolicyFirst {
      checkReadPolicy(profile, &setting)
    } else {
      check(profile.policyFile, .text(.lines), &setting, "policy_file")
    }
    check(profile.webIdentityTokenFile, .secret(.line), &setting, "web_identity_token_file")
    check(profile.caFile, .authorities, &setting, "ca_file")
    if scope == .everything { checkAccess(profile, &setting) }
  }

  /// The policy was read with the configuration.
  private mutating func checkReadPolicy(_ profile: ProfileSettings, _ setting: inout Setting) {
    guard scope == .everything else { return }
    setting.key = "policy_file"
    if let reason = profile.policyFile.flatMap({ unseenPolicies[$0] }) {
      unchecked.append("\(setting.section): \(setting.key): \(reason)")
    }
  }

  private mutating func checkAccess(_ profile: ProfileSettings, _ setting: inout Setting) {
    setting.key = "allow_executables"
    for path in profile.allowExecutables
    where path.hasPrefix("/") && !path.contains(where: "*?[".contains) {
      guard let facts = look(at: path, setting, { FileFacts(path) }) else { continue }
      if facts.failure != 0 {
        warn(setting, "'\(path)' is not there: \(SystemError("", number: facts.failure).reason)")
      }
    }
    // If a list contained a mistake, it was not read.
    guard reading.configuration != nil else { return }
    guard !isOwn else { return }
    // Without lists, a derived profile admits the users that its source admits.
    guard !profile.way.inheritsAccess, AccessRule(profile, groupID: { _ in nil }).isOpen else {
      return
    }
    guard !profile.allowUsers.contains(AccessRule.everybody) else { return }
    setting.key = ""
    warn(
      setting,
      "profile '\(profile.name)' admits every user of this host: set allow_users, "
        + "allow_groups or allow_units, or 'allow_users = *' if everybody is meant")
  }

  /// A file there must be a socket: systemd's, or the socket of a daemon that has ended.
  private mutating func check(_ socket: SocketSettings) {
    let (path, setting) = ("\(socket.path)", Setting(section: "socket \(socket.path)"))
    guard let facts = look(at: path, setting, { FileFacts(path) }), facts.failure == 0 else {
      return
    }
    guard facts.kind != S_IFSOCK else { return }
    fail(setting, "\(socket.title): this is no socket: remove it, or choose another path")
  }

  // MARK: Files

  /// A key of a section.
  struct Setting {
    let section: String
    var key = ""
  }

  private mutating func check(
    _ path: String?, _ content: FileContent, _ setting: inout Setting, _ key: String
  ) {
    guard let path, isWanted(path) else { return }
    setting.key = key
    let facts = look(at: path, setting) { [isContents = looksAtContentsAlone] in
      isContents ? FileFacts(ofRegular: path, content) : FileFacts(opening: path, content)
    }
    // systemd loads no more credentials while the service runs; other files may come.
    let mayCome = looksAtContentsAlone && !isCredential(path)
    guard let facts, facts.failure != ENOENT || !mayCome else { return }
    guard facts.failure == 0 else {
      return unreadable(path, facts.failure, setting, isSecret: content.isSecret)
    }
    switch facts.kind {
    case S_IFREG: break
    case S_IFDIR: return fail(setting, "'\(path)' is a directory")
    default: return checkOther(path, content, setting)
    }
    if content.isSecret, facts.isOpenToAll, !looksAtContentsAlone {
      warn(setting, "every user of this host can read '\(path)': 'chmod o-r' it")
    }
    if let fault = facts.fault { failContent(setting, "'\(path)' \(fault)") }
  }

  /// Reading a pipe here would take its content away.
  private mutating func checkOther(_ path: String, _ content: FileContent, _ setting: Setting) {
    switch content {
    case .pem, .authorities: return fail(setting, "'\(path)' is no regular file")
    case .text, .secret: break
    }
    unchecked.append(
      "\(setting.section): \(setting.key): '\(path)' is no regular file, and may give its content once"
    )
  }

  private mutating func check(_ identity: ClientIdentity, _ setting: inout Setting) {
    let pair = [identity.certificate, identity.privateKey]
    // Only this scope sees a pair of which one file is a credential of the service.
    guard looksAtContentsAlone ? pair.contains(where: isWanted) : pair.allSatisfy(isWanted)
    else { return }
    setting.key = identity.key
    guard
      let fits = look(
        at: identity.privateKey, setting,
        { ClientKeyFit(identity) })
    else { return }
    switch fits {
    case .fits, .unreadable: break
    case .fault(let fault): failContent(setting, "'\(identity.privateKey)' \(fault)")
    case .noCertificate:
      setting.key = "client_certificate"
      failContent(setting, "'\(identity.certificate)' \(Self.damaged("certificate"))")
    case .noKey: failContent(setting, "'\(identity.privateKey)' \(Self.damaged("private key"))")
    case .other:
      failContent(
        setting,
        "the private key in '\(identity.privateKey)' does not belong to the certificate in "
          + "'\(identity.certificate)'")
    case .unknown(let problem):
      unchecked.append(
        "\(setting.section): \(setting.key): whether it fits its certificate: \(problem)")
    }
  }

  private static func damaged(_ block: String) -> String {
    "cannot be read as a \(block): a line of it is damaged, or OpenSSL does not know its kind"
  }

  private var looksAtContentsAlone: Bool { if case .contents = scope { true } else { false } }

  private func isWanted(_ path: String) -> Bool {
    switch scope {
    case .everything: true
    case .files(let folder): path.hasPrefix(folder + "/")
    case .contents(let folder): folder.map { !path.hasPrefix($0 + "/") } ?? true
    }
  }

  /// The result of a look at a file; nil if the look hangs, which is reported.
  private mutating func look<Value: Sendable>(
    at path: String, _ setting: Setting, _ body: @escaping @Sendable () -> Value
  ) -> Value? {
    let wasOver = files.isOver
    if let value = files.wait(for: body) { return value }
    let problem = BoundedWait.problem(of: path, wasOver: wasOver)
    unchecked.append("\(setting.section): \(setting.key): \(problem)")
    return nil
  }

  private mutating func unreadable(
    _ path: String, _ number: Int32, _ setting: Setting, isSecret: Bool = false
  ) {
    if let reason = user.reasonUnseen(path, number, credentials: credentials) {
      return unchecked.append("\(setting.section): \(setting.key): \(reason)")
    }
    if let access = user.access(number) {
      return fail(setting, access.refusal(of: path, isSecret: isSecret))
    }
    let hint = number == ENOENT && isCredential(path) ? Self.loadedCredentials(beside: path) : ""
    fail(setting, "cannot open '\(path)': \(SystemError("", number: number).reason)\(hint)")
  }

  /// Whether systemd puts the file there, by `LoadCredential=` and its like.
  private func isCredential(_ path: String) -> Bool {
    (credentials ?? ServiceDirectory.credentials).map { path.hasPrefix($0 + "/") } ?? false
  }

  /// What systemd has loaded in setting of a credential that is missing, with what to do.
  private static func loadedCredentials(beside path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    let folder = String(path.dropLast(name.utf8.count + 1))
    let loaded = (try? ConfigurationFiles.names(in: folder)) ?? []
    let shown = loaded.prefix(8).map { "'\($0)'" }.joined(separator: ", ")
    return "; systemd loaded \(loaded.isEmpty ? "no credential" : shown): name it in the unit, as "
      + "LoadCredential=\(name):FILE, and restart the service"
  }

  private mutating func checkProgram(_ path: String, _ setting: inout Setting, _ key: String) {
    guard isWanted(path), !looksAtContentsAlone else { return }
    setting.key = key
    guard let facts = look(at: path, setting, { FileFacts(running: path) }) else { return }
    if facts.failure != 0 { return unreadable(path, facts.failure, setting) }
    guard facts.kind == S_IFREG else { return fail(setting, "'\(path)' is no program") }
    if facts.cannotRun != 0 {
      if user.isStranger { return unreadable(path, facts.cannotRun, setting) }
      let reason = SystemError("", number: facts.cannotRun).reason
      let user = user.became ? " by the user '\(ServiceUser.name)'" : ""
      return fail(setting, "'\(path)' cannot be run\(user): \(reason)")
    }
    if let fault = facts.fault { fail(setting, "'\(path)' cannot be run: \(fault)") }
  }

  private mutating func checkSocket(_ path: String, _ setting: inout Setting, _ key: String) {
    guard isWanted(path), !looksAtContentsAlone else { return }
    setting.key = key
    guard let facts = look(at: path, setting, { FileFacts(path) }) else { return }
    guard facts.failure == 0 else {
      // The server of the socket may start later.
      let reason = SystemError("", number: facts.failure).reason
      return warn(setting, "no server listens at '\(path)' now: \(reason)")
    }
    if facts.kind != S_IFSOCK { fail(setting, "'\(path)' is no socket") }
  }

  // MARK: Results

  private mutating func fail(_ setting: Setting, _ message: String) {
    add(scope.severityOfFiles, setting, message)
  }

  private mutating func failContent(_ setting: Setting, _ message: String) {
    add(scope.severityOfContents, setting, message)
  }

  mutating func warn(_ setting: Setting, _ message: String) { add(.warning, setting, message) }

  private mutating func add(_ severity: Diagnostic.Severity, _ setting: Setting, _ message: String)
  {
    diagnostics.append(
      Diagnostic(
        severity: severity, position: reading.position(of: setting.key, in: setting.section),
        message: setting.key.isEmpty ? message : "\(setting.key): \(message)"))
  }
}
