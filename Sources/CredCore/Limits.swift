/// The limits that a client, a user, an upstream or an operator can meet, each with its reason.
/// The sum that one user can occupy is the product of the limits for one user.
///
/// Numbers that only tune an algorithm are private, at the top of the file that uses them.
public enum Limits {
  /// A request line and what it may ask for.
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
    /// Sessions of one reply to `status`, if the request sets a `limit`: less than a millisecond's work
    /// for each few hundred, and less than 1 MiB.
    public static let longestStatusPage = 1000
    /// The same without a `limit`. A client that knows no pages reads 10,000 JSON values, and a session
    /// has some twenty.
    public static let standardStatusPage = 400
    /// Bytes of the sessions of one reply to `status`: a client's backlog takes 1 MiB. A page with long
    /// error messages ends early.
    public static let statusPageBytes = 768 << 10
    /// How long a `get` waits for a refresh or a sign-in if it has no `wait`. A program that hangs
    /// longer looks broken, and older Rust SDKs kill a credential_process after 5 s.
    public static let defaultWait = Duration.seconds(5)
    /// The longest `wait`, in seconds: a person can sign in within it, and no client waits for
    /// ever.
    public static let longestWaitSeconds = 300.0
    /// The longest `min_ttl`, in seconds: AWS grants no role session longer than 12 hours.
    public static let longestLifetimeSeconds = 43_200.0
  }

  /// The connections of all clients, and what the connections of one user occupy.
  public enum Client {
    /// Open connections, unless `max_connections` says otherwise. Each takes a descriptor and some
    /// 100 bytes; the unit's `LimitNOFILE=` must be higher.
    public static let connections = 4096
    /// Open connections of one user, unless `max_connections_per_user` says otherwise: one user
    /// must not take them all.
    public static let connectionsPerUser = 64
    /// Unread reply bytes of one connection, some 900 credentials. The daemon closes a connection
    /// that has more.
    public static let backlogBytes = 1 << 20
    /// Unread reply bytes of one user's connections, the largest backlog not counted. Four times
    /// the limit of one connection.
    public static let backlogBytesPerUser = 4 * backlogBytes
    /// Bytes of unfinished lines on one user's connections: four of the longest. 64 connections
    /// could begin 32 MiB of them.
    public static let unfinishedBytesPerUser = 4 * Line.bytes
    /// Sessions of one user in which requests wait for an upstream at the same time. A program that
    /// asks for every account of its user when it starts needs some ten. Each waiting session takes
    /// a place in the queues that all profiles share.
    public static let waitingSessions = 32
    /// Processes of one user whose program waits to be looked at (`allow_executables`). A look takes
    /// far less than a millisecond; more than these at once is no honest use.
    public static let queuedPrograms = 32
    /// Events that wait while the access of one watching client is decided again, which takes
    /// seconds at most.
    public static let heldEvents = 64
  }

  /// Sessions and what they hold.
  public enum Session {
    /// Sessions (users times profiles) that `max_sessions` may allow. One takes some 4 KB with its
    /// credentials, and 3 KB in the descriptor store.
    public static let most = 100_000
    /// Bytes of the logins that one user's sessions keep: eight sessions with as many logins as a
    /// line holds, or thousands with logins of ordinary size.
    public static let loginBytesPerUser = 8 * Line.bytes
    /// Characters of a user name, Cognito's limit for a developer user identifier.
    public static let usernameLength = Upstream.userIdentifierLength
    /// Devices that user pools remember for one uid: one for each pool and person, and room to
    /// spare.
    public static let devicesPerUser = 64
    /// Bytes of a password: longer than any password that a login system takes.
    public static let passwordBytes = 4096
  }

  /// Replies of upstreams, and the limits of AWS on what credd sends.
  public enum Upstream {
    /// Bytes of a backend's reply: two tokens of 50,000 characters and room to spare.
    public static let backendReplyBytes = 256 << 10
    /// Bytes of a reply of Cognito or STS: a session token has less than 4 KB, an OpenID token at
    /// most 50,000.
    public static let awsReplyBytes = 64 << 10
    /// Bytes that a backend's command may write: a token and the JSON around it.
    public static let commandOutputBytes = 64 << 10
    /// The longest `Retry-After` that credd obeys. A server that names a later time is asked again
    /// after this one.
    public static let longestRetryAfter = Duration.seconds(3600)

    // MARK: Cognito API reference: GetId, GetCredentialsForIdentity

    /// Characters of an IdentityId or an IdentityPoolId.
    public static let identityIDLength = 55
    /// Logins in one map.
    public static let logins = 10
    /// Characters of a provider's name.
    public static let providerLength = 128
    /// Characters of a token.
    public static let tokenLength = 50_000

    // MARK: Accounts at backends; the Cognito user pools API reference, SignUp

    /// Attributes of one account: the standard ones and 50 of the pool's own, less than a line holds.
    public static let accountAttributes = 50
    /// Bytes of an attribute's name: 32 characters, and `custom:` before them.
    public static let attributeNameBytes = 64
    /// Bytes of an attribute's value.
    public static let attributeBytes = 2048

    // MARK: Cognito API reference: GetOpenIdTokenForDeveloperIdentity

    /// Characters of a developer user identifier.
    public static let userIdentifierLength = 1024
    /// Seconds that a developer token lasts.
    public static let tokenSeconds = 1...86_400
    /// Principal tags of one token.
    public static let principalTags = 50
    /// Characters of a tag's name.
    public static let tagNameLength = 1...128
    /// Characters of a tag's value.
    public static let tagValueLength = 1...256

    // MARK: STS API reference: AssumeRoleWithWebIdentity

    /// Characters of a role's or a policy's ARN; Cognito's CustomRoleArn has the same limit.
    public static let roleARNLength = 20...2048
    /// Characters of a role session's name.
    public static let roleSessionNameLength = 2...64
    /// Seconds that a role session lasts. The role's own maximum may be lower.
    public static let roleSeconds = 900...43_200
    /// Characters of a session policy.
    public static let policyLength = 1...2048
    /// Managed policies of one session.
    public static let policyARNs = 10
  }

  /// Cognito user pools: the user pools API reference, where no other reason is given.
  public enum UserPool {
    /// Bytes of a reply: three tokens, or a challenge with parameters of 64 KiB.
    public static let replyBytes = 256 << 10
    /// Bytes of SECRET_BLOCK in base64. Cognito's has some 1.5 KB.
    public static let secretBlockBytes = 64 << 10
    /// Characters of a pool's id.
    public static let poolIDLength = 55
    /// Characters of an app client's id.
    public static let clientIDLength = 128
    /// Characters of a user name.
    public static let usernameLength = 128
    /// Characters of a password.
    public static let passwordLength = 256
    /// Characters of a code.
    public static let codeLength = 2048
    /// Characters of the name that a device or an authenticator app gets.
    public static let deviceNameLength = 1024
    /// Characters of a device's key.
    public static let deviceKeyLength = 55
    /// Characters of an attribute's name.
    public static let attributeNameLength = 32
    /// Characters of an attribute's value.
    public static let attributeLength = 2048
    /// Bytes of a challenge's Session. Cognito's have at most 4096.
    public static let sessionBytes = 16 << 10
    /// Devices on one page of a list.
    public static let devicesOfPage = 60
    /// Bytes of an answer to a challenge of the pool's own trigger, and of one value of
    /// ClientMetadata.
    public static let answerBytes = 131_072
    /// Entries of ClientMetadata and of ValidationData. More fit into no request line.
    public static let metadataEntries = 64
  }

  /// Sign-ins that wait for an answer of their user.
  public enum Challenge {
    /// Open challenges of one user: one in each of as many profiles.
    public static let openPerUser = 8
    /// Open challenges of all users: each keeps some kilobytes, and at most a challenge of 256 KiB.
    public static let open = 1024
    /// The longest that one sign-in may go on, however often it asks.
    public static let longestSignIn = Duration.seconds(30 * 60)
    /// Answers of one `respond`: no step takes more than two.
    public static let answers = 8
  }

  /// Configuration files. Each number is far above honest use. It keeps a file that is no
  /// configuration (a core dump, a log) from costing more than a moment.
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
    /// Diagnostics reported one by one; the rest is counted.
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
  }

  /// What outlives a restart (the descriptor store) and a reboot (the file of IdentityIds).
  public enum Store {
    /// Bytes of one session in the descriptor store: ten logins of 50,000 characters and two
    /// tokens.
    public static let sessionBytes = 1 << 20
    /// Bytes of all sessions in the descriptor store, which is memory: 10 KB for each of
    /// ``Session/most`` sessions. Users with many large logins must not fill the host with them.
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
