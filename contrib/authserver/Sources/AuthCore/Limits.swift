/// Every limit of the server, each with its reason.
public enum Limits {
  /// Cognito's limit for a DeveloperUserIdentifier, in characters. It is a limit in bytes, too,
  /// because PostgreSQL's indexes hold no more than 2,700, and folding makes some names longer.
  public static let identifierLength = 1024
  /// Ten logins of 50,000 characters, as Cognito allows, and the rest of a callback.
  public static let bodyBytes = 512 * 1024
  /// Bodies longer than ``smallBodyBytes`` that are read at once: 64 MiB in all, and fewer of one
  /// host.
  public static let longBodies = 128
  public static let longBodiesPerHost = 8
  /// A password, a name and an invitation; a callback without logins.
  public static let smallBodyBytes = 16 * 1024
  /// All fields of a request: a session's and a host's token are short.
  public static let headerBytes = 16 * 1024
  public static let headerFields = 100
  /// A request has arrived within this time, or its connection is closed.
  public static let requestTime = Interval.seconds(15)
  /// An answer is on its way within this time, or its connection is closed. All waits for the
  /// database and Cognito together are shorter.
  public static let answerTime = Interval.seconds(60)
  /// Requests on a connection without an answer yet. credd sends one at a time.
  public static let unansweredRequests = 16
  /// A connection may stay this long without a request.
  public static let idleTime = Interval.seconds(75)
  /// The same, once half of the connections are taken.
  public static let crowdedIdleTime = Interval.seconds(5)
  public static let connections = 8192
  /// Requests under way have this long when the server stops. credd waits 10 s for an answer.
  public static let stopTime = Interval.seconds(20)
  /// What a balancer says of a connection. Amazon's balancers say some 100 bytes, and with TLS
  /// certificates some hundred more.
  public static let proxyHeaderBytes = 2048
  /// Patterns of one enrolment; each is tried at a callback.
  public static let patterns = 256
  public static let patternLength = 256
  /// Of the log, while its reader stands still.
  public static let waitingLogBytes = 1 << 20

  /// Shorter ones are guessed; NIST SP 800-63B §5.1.1.
  public static let shortestPassword = 8
  /// Longer ones are an attack on the hash.
  public static let longestPassword = 256
  /// The list of common passwords: some 100,000 of them, which take some 10 MiB of memory.
  public static let passwordListBytes = 1 << 20
  /// Hashes waiting for a thread. Each takes about 20 ms.
  public static let waitingHashes = 64

  /// Tokens kept for reuse: a megabyte for a thousand.
  public static let keptTokens = 200_000
  /// Callbacks that wait for a token of the quota, on one server.
  public static let waitingCallbacks = 2048
  /// How long a callback waits for its turn. credd waits 10 s for the answer.
  public static let quotaWait = Interval.seconds(4)
  /// What one server takes out of the shared bucket at once: this much of a second's quota.
  public static let quotaSlice = Interval(milliseconds: 500)
  /// Nobody is told to come back later than that.
  public static let longestRetry = Interval.minutes(5)

  /// Registrations that one source may try at once on one server, whatever becomes of them, and
  /// then the pause between two of them. They are counted in memory, before the database is asked.
  public static let registrations: (burst: Int64, pause: Interval) = (20, .seconds(3))
  /// Sources with tries that are counted in memory.
  public static let rememberedSources = 10_000

  /// Guesses without a pause: at a user on one source, at a user on all sources, and on a source.
  public static let freeGuesses: (pair: Int64, user: Int64, source: Int64) = (5, 10, 30)
  /// With so many guesses at one user, or from one source, somebody guesses from many sources, or
  /// at many users.
  public static let manyGuesses: Int64 = 100
  /// The longest pause after wrong guesses. Nobody locks another user out for longer.
  public static let longestPause = Interval.seconds(60)
  /// How long the server knows a source as a source of a user.
  public static let sourceMemory = Interval.days(180)
  /// Failures are forgotten after this time without one.
  public static let guessMemory = Interval.minutes(30)

  /// Enrolments that end soon and that the log names at once. For further enrolments the log has
  /// their number.
  public static let endsInLog = 100
  /// How long the audit can say which host an ended token belonged to.
  public static let endedTokenMemory = Interval.days(90)

  /// A query waits this long for a connection, and a statement this long for PostgreSQL's answer.
  /// credd waits 10 s for the server's answer.
  public static let databaseTime = Interval.seconds(5)
  /// A connection to PostgreSQL is used no longer than this: the name may lead to another machine
  /// by then.
  public static let connectionAge = Interval.minutes(30)

  /// One request to Cognito, the connection included.
  public static let cognitoTime = Interval.seconds(8)
  /// Of that, for the connection.
  public static let connectTime = Interval.seconds(3)
  public static let cognitoReplyBytes = 256 * 1024
  /// Requests to Cognito under way at once. As many may wait for one of them to end.
  public static let cognitoCalls = 256
  /// Connections to Cognito that are kept for the next request, and for how long.
  public static let keptConnections = 16
  public static let keptConnectionTime = Interval.seconds(50)

  /// The program that prints the server's own AWS credentials.
  public static let processTime = Interval.seconds(30)
  public static let processBytes = 64 * 1024

  /// Entries of the audit that one source can cause as often as it likes. Of one kind, this many
  /// are written one by one in this time. Then the audit has their number.
  public static let auditEach = 10
  public static let auditWindow = Interval.minutes(10)
  /// Sources that are counted separately. Of refusals there are few, because a client can have many
  /// addresses without an enrolment. Of reused tokens there are as many as a fleet has users.
  public static let auditSources = (refused: 512, reused: 65_536)

  /// Devices of one user of the sample protocol; the oldest goes.
  public static let devicesPerUser = 32
  /// Timestamps of the sample protocol may be off by this much either way.
  public static let sampleSkew = Interval.minutes(15)
  /// A signature of the sample protocol is good once in this time. The time is as long as its
  /// timestamp is timely, and some more, because servers' clocks differ.
  public static let sampleReplay = Interval.minutes(35)
}
