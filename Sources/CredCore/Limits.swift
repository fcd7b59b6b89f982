/// The limits that a client, a user, an upstream or an operator can reach, each with its reason.
/// The limits of one user multiply: together they bound the memory that one user can occupy.
///
/// Numbers that only tune an algorithm are private, at the top of the file that uses them.
public enum Limits {
  /// A request line and its content.
  public enum Line {
    /// Bytes of a request line without its newline: a `login` with 10 logins of 50,000 characters,
    /// the most that Cognito takes.
    public static let bytes = 512 << 10
    /// From the first byte of a line to its newline. A program writes its line at once; a person
    /// can type one into `nc` in this time.
    public static let time = Duration.seconds(10)
    /// Bytes of a request's `id`, which is kept while the request waits.
    public static let idBytes = 256
    /// Bytes of a request's `purpose`, which goes to the journal and to backends.
    public static let purposeBytes = 128
    /// Nesting and values of a line: a `login` with ten logins has 15 values in 2 levels, and a
    /// sign-up may have some 60 attributes of a user.
    public static let json = JSONLimits(depth: 4, values: 128)
    /// Sessions of one reply to `status`, if the request sets a `limit`. Some hundred sessions take
    /// less than a millisecond, and the reply has less than 1 MiB.
    public static let longestStatusPage = 1000
    /// Sessions of one reply to `status` without a `limit`. A client that does not know pages reads
    /// at most 10,000 JSON values, and a session has some twenty.
    public static let standardStatusPage = 400
    /// Bytes of the sessions of one reply to `status`, because a client's backlog has at most 1
    /// MiB. A page with long error messages ends early.
    public static let statusPageBytes = 768 << 10
    /// How long a `get` waits for a refresh or a sign-in if it has no `wait`. A program that waits
    /// longer looks broken, and older Rust SDKs kill a credential_process after 5 s.
    public static let defaultWait = Duration.seconds(5)
    /// The longest `wait`, in seconds: enough for a person to sign in, and no client waits for
    /// ever.
    public static let longestWaitSeconds = 300.0
    /// The longest `min_ttl`, in seconds: AWS grants no role session longer than 12 hours.
    public static let longestLifetimeSeconds = 43_200.0
  }

  /// The connections of all clients, and the memory of one user's connections.
  public enum Client {
    /// Open connections, unless `max_connections` says otherwise. Each takes a descriptor and some
    /// 100 bytes; the unit's `LimitNOFILE=` must be higher.
    public static let connections = 4096
    /// Open connections of one user, unless `max_connections_per_user` says otherwise. One user
    /// must not take all connections.
    public static let connectionsPerUser = 64
    /// Connections of root and of credd's own user beyond `max_connections`, so that an
    /// administrator can connect while all others are taken.
    public static let reservedConnections = 8
    /// The part of `max_connections` and of `max_sessions` for all uids without a name and an owner
    /// together: a half.
    public static let ownerlessPart = 2
    /// The part of `max_connections` for connections with users that are being looked up: a
    /// quarter, in addition to the half.
    public static let unknownPart = 4
    /// Unread reply bytes of one connection, some 900 credentials. If a connection has more, the
    /// daemon closes it.
    public static let backlogBytes = 1 << 20
    /// Unread reply bytes of one user's connections, without the largest backlog: four times the
    /// limit of one connection.
    public static let backlogBytesPerUser = 4 * backlogBytes
    /// Bytes of unfinished lines on one user's connections: four of the longest. Without this
    /// limit, 64 connections could hold 32 MiB.
    public static let unfinishedBytesPerUser = 4 * Line.bytes
    /// Sessions of one user in which requests wait for an upstream at the same time. A program that
    /// asks for every account of its user when it starts needs some ten. Each waiting session takes
    /// room in the queues that all profiles share.
    public static let waitingSessions = 32
    /// Processes of one user with programs that wait to be checked (`allow_executables`). A check
    /// takes far less than a millisecond, so honest use never needs more at once.
    public static let queuedPrograms = 32
    /// Events that wait while access of a watching client is decided again, which takes seconds at
    /// most.
    public static let heldEvents = 64
  }

  /// Connections to the endpoint, from which HTTP clients get credentials.
  public enum Endpoint {
    /// Bytes of a request's head. A token of another system has at most 2 KB, and the other headers
    /// of an SDK have 1 KB.
    public static let headBytes = 8 << 10
    /// Header fields of a request; SDKs send some ten.
    public static let fields = 64
    /// The time from the accept, or the end of the last answer, to the end of a head that has
    /// begun. The SDKs give up after a few seconds.
    public static let headTime = Duration.seconds(10)
    /// How long a connection stays open between two requests. SDKs keep a connection for their next
    /// tries, but a kept connection must not delay `exit_on_idle`.
    public static let idleTime = Duration.seconds(15)
    /// How long a client may go without reading a byte of its answer.
    public static let writeTime = Duration.seconds(10)
    /// Open connections, of all users and of one.
    public static let connections = 4096
    public static let connectionsPerUser = 64
    /// Connections beyond these limits that may take their refusal and close, of all users together;
    /// others are reset at once.
    public static let refusedConnections = 64
    /// How long they may take for it.
    public static let refusalTime = Duration.seconds(1)
    /// How long a request waits for credentials. Some SDKs give up after a second; the next try
    /// gets the credentials that arrive meanwhile.
    public static let wait = Duration.milliseconds(900)
    /// Bytes of a token.
    public static let tokenBytes = 512
    /// The time for the walk through the control groups that finds a caller's unit.
    public static let unitTime = Duration.milliseconds(500)
    /// How long a caller's control group that was not found is not looked for again. A group is there
    /// before its processes are, so a walk misses only what has ended or lies outside of the host's
    /// groups.
    public static let missingUnitTime = Duration.seconds(1)
    /// Units that are remembered by the numbers of their control groups.
    public static let units = 1024
  }

  /// Sessions and their content.
  public enum Session {
    /// Sessions (users times profiles) that `max_sessions` may allow. One takes some 4 KB with its
    /// credentials, and 3 KB in the descriptor store.
    public static let most = 100_000
    /// Bytes of the logins that one user's sessions keep. They are enough for eight sessions with
    /// the longest line of logins, or for thousands with logins of ordinary size.
    public static let loginBytesPerUser = 8 * Line.bytes
    /// The most sessions of all uids of one owner in /etc/subuid, unless there are more profiles:
    /// as many as the containers that may be connected at once.
    public static let ofOwner = Client.connectionsPerUser
    /// How long a derived session waits for its source, if its callers do not wait longer.
    static let sourceWait = Duration.seconds(60)
    /// Characters of a user name, Cognito's limit for a developer user identifier.
    public static let usernameLength = Upstream.userIdentifierLength
    /// Devices that user pools remember for one uid: one for each pool and person, and more.
    public static let devicesPerUser = 64
    /// Bytes of a password: more than any login system accepts.
    public static let passwordBytes = 4096
  }

  /// The attempts, calls and demands of one user in some time.
  public enum User {
    /// How many refused passwords and answers of one user, profile and user name are free; after
    /// that each attempt must wait. People mistype passwords.
    public static let freeFailures = 3
    /// The free refusals for all user names and profiles of one uid together.
    public static let freeFailuresInAll = 10
    /// The free refusals of second factors for a user of a pool, over all uids.
    public static let freeFailuresOfFactor = 10
    /// The first pause after the free failures; each further pause is twice as long.
    public static let firstPause = Duration.seconds(2)
    /// The longest pause, so that nobody is locked out for long.
    public static let longestPause = Duration.seconds(5 * 60)
    /// Upstream calls at once. A sign-in takes up to three, and people try again.
    public static let calls = 60
    /// After these, two calls a second: a twenty-fifth of a backend's default rate.
    public static let callPause = Duration.milliseconds(500)
    /// At most one refresh of a session in this time may be demanded by callers (`refresh`,
    /// `min_ttl`).
    public static let demandInterval = Duration.seconds(1)
    /// At most one new token of a provider may be demanded in this time, because each may use up a
    /// refresh token.
    public static let providerDemandInterval = Duration.seconds(30)
    /// How long after a sign-in the account may be changed. So a program with a user's credentials
    /// cannot take over the user's account.
    public static let accountTime = Duration.seconds(15 * 60)
    /// Bytes of a program's file that is hashed for `allow_executables`. The largest programs of a
    /// host have 200 MB.
    public static let programBytes: Int64 = 256 << 20
  }

  /// The operation `check`, which asks servers that no session needs at that moment.
  public enum Check {
    /// The time between two checks of a user and a profile, because each check asks all servers.
    public static let pause = Duration.seconds(60)
    /// The time between two checks if the first one failed. It is short, because a person who has mended
    /// something checks again.
    public static let pauseOfFailed = Duration.seconds(5)
    /// The most checks under way at once, of all users and of one. Each has one request to one
    /// server, under way or not admitted yet.
    public static let underWay = 32
    public static let underWayOfUser = 4
    /// The most checks that are remembered until their pause is over, of all users and of one. A
    /// further check is refused.
    public static let remembered = 4096
    public static let rememberedOfUser = 64
    /// How long the servers of one profile and of all profiles are asked. Servers that were not
    /// asked by then are reported so. credctl waits two minutes, and the renewal of a session may
    /// take one of them.
    public static let time = Duration.seconds(45)
    public static let timeOfAll = Duration.seconds(100)
  }

  /// A rate: at most `count` in `time`.
  public struct Rate: Sendable {
    public let count: Int
    public let time: Duration

    public init(count: Int, time: Duration) {
      self.count = count
      self.time = time
    }
  }

  /// Requests about accounts before a sign-in, and messages that a pool sends, which may cost
  /// money.
  public enum Account {
    /// Requests of one uid.
    public static let ofUser = Rate(count: 5, time: .seconds(10 * 60))
    /// Requests of one uid about one user name.
    public static let ofName = Rate(count: 3, time: .seconds(60 * 60))
    /// Codes of sign-ins for one user name: people sign in more often than they make accounts.
    public static let codesOfName = Rate(count: 10, time: .seconds(60 * 60))
    /// Codes that one uid types, to confirm an account or to set a new password.
    public static let answersOfUser = Rate(count: 10, time: .seconds(10 * 60))
    /// Of one uid, for one user name, until another code is sent: people mistype codes.
    public static let answersOfCode = Rate(count: 5, time: .seconds(60 * 60))
    /// Of all users, at one backend.
    public static let ofBackend = Rate(count: 30, time: .seconds(60))
    /// Requests of one uid at a backend that has reached ``ofBackend``, if the uid has contributed
    /// to that.
    public static let share = Rate(count: 1, time: ofBackend.time)
  }

  /// Sign-ins that wait for an answer of their user.
  public enum Challenge {
    /// Open challenges of one user: one in each of as many profiles.
    public static let openPerUser = 8
    /// Open challenges of all users: each keeps some kilobytes, at most a challenge of 256 KiB or the
    /// logins of a line.
    public static let open = 1024
    /// The longest time of one sign-in, however often it asks.
    public static let longestSignIn = Duration.seconds(30 * 60)
    /// Answers of one `respond`: no step takes more than two.
    public static let answers = 8
    /// Wrong answers that end a sign-in.
    public static let wrongAnswers = 10
    /// How long a question of a user pool waits. It is the shortest time for which Cognito can keep
    /// a Session (AuthSessionValidity). Pools do not announce the time that they have set.
    public static let answerTime = Duration.seconds(180)
    /// How many questions of a pool's own trigger may follow each other. Each further one counts as a
    /// wrong answer, because the trigger does not say whether the last answer was right.
    public static let freeQuestions = 2
    /// Requests of one sign-in between two answers of its user. A sign-in with a dropped device
    /// takes seven. A pool that asks without end must not keep credd busy.
    public static let requestsPerAnswer = 16
    /// How often credd tries to confirm a new device, because the tokens of an unconfirmed one
    /// cannot be renewed.
    public static let deviceConfirmations = 4
    /// The longest pause before another of these requests: a person waits.
    public static let confirmationPause = Duration.seconds(5)
  }

  /// Configuration files. Each number is far above honest use. So a file that is no configuration,
  /// such as a core dump or a log, costs only a moment.
  public enum Configuration {
    /// Bytes of one file: 10,000 profiles of some 20 lines fit into a few files.
    public static let fileBytes = 1 << 20
    /// Bytes of one line without its end: the longest value is a list of names or an ARN of 2,048.
    public static let lineBytes = 8 << 10
    /// Files read together: the main file and those in its `.d` directory.
    public static let files = 1024
    /// Profiles in all files.
    public static let profiles = 10_000
    /// Backends in all files. Profiles share them, so a few are enough.
    public static let backends = 1000
    /// Sockets with a cap in all files. A user has a separate allowance at each socket.
    public static let sockets = 64
    /// Diagnostics that are reported one by one; the rest is counted.
    public static let diagnostics = 1000
    /// Characters of a profile's or a backend's name, which goes into file names and log fields.
    public static let profileNameLength = 64
    /// Bytes of a path, `PATH_MAX` less its NUL.
    public static let pathBytes = 4095
    /// Bytes of a Unix socket's path, `sun_path` less its NUL.
    public static let socketPathBytes = 107
    /// Words of a command, the program included.
    public static let commandWords = 256
    /// Headers of one backend.
    public static let headers = 64
    /// Variables of one program.
    public static let environmentVariables = 256
    /// Bytes of a user's or group's name (`LOGIN_NAME_MAX`).
    public static let accountNameBytes = 256
    /// Bytes of /etc/subuid: a line of some 30 for each of 100,000 users of the host.
    public static let subordinateFileBytes = 4 << 20
  }

  /// The state that outlives a restart (in the descriptor store) and a reboot (in the file of
  /// IdentityIds).
  public enum Store {
    /// Bytes of one session in the descriptor store: ten logins of 50,000 characters and two
    /// tokens.
    public static let sessionBytes = 1 << 20
    /// Bytes of all sessions in the descriptor store, which is memory: 10 KB for each of
    /// ``Session/most`` sessions. Users with many large logins must not fill the host's memory.
    public static let bytes = 1 << 30
    /// Bytes of one text of a session; the longest is a user name of 1024 characters.
    public static let textBytes = 4096
    /// Bytes of one secret of a session: as large as a backend's reply.
    public static let secretBytes = Upstream.backendReplyBytes
    /// Bytes of the file of IdentityIds: some 200 bytes for each session.
    public static let identityFileBytes = 32 << 20
    /// Bytes of one line of that file.
    public static let identityLineBytes = 8192
  }
}
