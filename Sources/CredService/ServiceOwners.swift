import CredCore

/// The parts that all other parts use.
struct ServiceBase {
  let host: Host
  let configuration: ConfigurationInForce
  let directory: UserDirectory
  let accounts: AccountDirectory
  let journal: Journal
  let figures: Figures
  let limits: UserLimits
  let doors: Doors
  let clients: Clients
  let sessions: SessionTable

  init(_ host: Host, _ resolved: ResolvedConfiguration) {
    self.host = host
    let clock = host.clock
    configuration = ConfigurationInForce(resolved, since: clock.wallTime)
    directory = UserDirectory(clock: clock, background: host.background, queries: host.queries)
    accounts = AccountDirectory(
      clock: clock, background: host.background, queries: host.queries, directory: directory,
      log: host.log)
    figures = Figures()
    journal = Journal(log: host.log, clock: clock, accounts: accounts)
    limits = UserLimits(clock: clock, accounts: accounts, figures: figures)
    doors = Doors(configuration)
    clients = Clients(
      doors: doors, clock: clock, accounts: accounts, journal: journal, figures: figures)
    sessions = SessionTable(
      host: host, configuration: configuration, accounts: accounts, figures: figures)
  }
}

/// The other parts. Each knows those above it in this list.
struct ServiceOwners {
  let changedFiles: ChangedFiles
  let derived: DerivedSessions
  let tokens: Tokens
  let devices: Devices
  let records: Records
  let watches: Watches
  let admittance: Admittance
  let grants: Grants
  let guesses: Guesses
  let signIns: SignIns
  let signOuts: SignOuts
  let door: EndpointDoor
  let checks: Checks
  let answers: Answers
  let accountActions: AccountActions
  let calls: SessionCalls
  let forgetting: Forgetting
  let kept: KeptSessions
  let http: HTTPClients
  let reports: Reports
  let reloads: Reloads

  init(_ base: ServiceBase) {
    let (host, clock, configuration) = (base.host, base.host.clock, base.configuration)
    let (clients, sessions, journal) = (base.clients, base.sessions, base.journal)
    let (figures, limits) = (base.figures, base.limits)
    changedFiles = ChangedFiles(
      host: host, configuration: configuration, clients: clients, sessions: sessions)
    derived = DerivedSessions(clock: clock, sessions: sessions)
    tokens = Tokens(host: host, configuration: configuration, sessions: sessions)
    devices = Devices(host: host, sessions: sessions)
    records = Records(
      host: host, configuration: configuration, sessions: sessions, derived: derived,
      tokens: tokens)
    watches = Watches(clock: clock, clients: clients, sessions: sessions)
    admittance = Admittance(
      host: host, configuration: configuration, directory: base.directory, sessions: sessions,
      records: records, devices: devices, clients: clients, changedFiles: changedFiles,
      journal: journal)
    grants = Grants(
      clock: clock, configuration: configuration, clients: clients, sessions: sessions,
      admittance: admittance, watches: watches)
    guesses = Guesses(clock: clock, accounts: base.accounts, figures: figures)
    signIns = SignIns(
      host: host, guesses: guesses, limits: limits, clients: clients, watches: watches,
      sessions: sessions, admittance: admittance, grants: grants, tokens: tokens,
      devices: devices, journal: journal, figures: figures)
    signOuts = SignOuts(
      host: host, clients: clients, sessions: sessions, derived: derived, tokens: tokens,
      devices: devices, signIns: signIns, limits: limits, journal: journal)
    door = EndpointDoor()
    checks = Checks(
      host: host, configuration: configuration, clients: clients, sessions: sessions,
      admittance: admittance, grants: grants, endpoint: door, limits: limits, figures: figures)
    answers = Answers(
      clients: clients, sessions: sessions, admittance: admittance, grants: grants,
      signIns: signIns, checks: checks, derived: derived, limits: limits, journal: journal)
    accountActions = AccountActions(
      host: host, clients: clients, sessions: sessions, grants: grants,
      guesses: guesses, signIns: signIns, signOuts: signOuts, devices: devices, limits: limits,
      journal: journal)
    calls = SessionCalls(
      host: host, clients: clients, sessions: sessions, derived: derived, tokens: tokens,
      directory: base.directory, limits: limits, journal: journal, figures: figures)
    forgetting = Forgetting(
      clock: clock, log: host.log, configuration: configuration, sessions: sessions,
      tokens: tokens, records: records)
    kept = KeptSessions(
      host: host, configuration: configuration, sessions: sessions, admittance: admittance)
    http = HTTPClients(
      host: host, door: door, clients: clients, sessions: sessions, admittance: admittance,
      grants: grants, journal: journal, figures: figures)
    reports = Reports(
      host: host, configuration: configuration, clients: clients, sessions: sessions,
      admittance: admittance, figures: figures)
    reloads = Reloads(
      host: host, configuration: configuration, doors: base.doors, clients: clients,
      sessions: sessions, admittance: admittance, grants: grants, derived: derived, tokens: tokens,
      records: records,
      forgetting: forgetting, kept: kept, signIns: signIns, journal: journal)
  }
}
