/// The limits of the line protocol and of what credd holds, in one place, each with its reason.
/// What one number allows a user to occupy is the product of the per-user ones.
public enum Limits {
  // MARK: The line protocol

  /// Bytes of a request line without its newline: a `login` with 10 logins of 50,000 characters,
  /// which is the most that Cognito takes.
  public static let lineBytes = 512 << 10
  /// For a line to become whole. A program writes its line at once; a person who types one into
  /// `nc` is fast enough.
  public static let partialLineTime = Duration.seconds(10)
  /// Bytes of replies a client may leave unread before it is cut off: some 900 credentials.
  public static let backlogBytes = 1 << 20
  /// Bytes of a request's `id`, which is kept while the request is under way.
  public static let requestIDBytes = 256
  /// What a request line may hold as JSON: a `login` with ten logins has 15 values in 2 levels.
  public static let requestJSON = JSONLimits(depth: 4, values: 64)
  /// Characters of a profile's name: it goes into file names and log fields.
  public static let profileNameLength = 64
  /// What a `get` waits for a refresh or a sign-in where it does not say. A program that hangs
  /// longer looks broken, and older Rust SDKs kill a credential_process after 5 s.
  public static let defaultWait = Duration.seconds(5)
  /// The longest `wait`, in seconds. A person signs in within it, and no waiter stays for ever.
  public static let longestWaitSeconds = 300.0
  /// The longest `min_ttl`, in seconds: AWS grants no role session longer than 12 hours.
  public static let longestLifetimeSeconds = 43_200.0

  // MARK: Connections

  /// Open connections. Each takes a descriptor and some 100 bytes; the unit's `LimitNOFILE=` must
  /// be above it.
  public static let connections = 4096
  /// Open connections of one Unix user, so that one cannot take them all.
  public static let connectionsPerUser = 64

  /// Bytes of unfinished lines that the connections of one user may hold together: four of the
  /// longest, where 64 connections could begin 32 MiB of them.
  public static let unfinishedBytesPerUser = 4 * lineBytes
  /// Bytes of unread replies that the connections of one user may hold together, beside the one
  /// that holds the most: what four who do not listen may leave each.
  public static let backlogBytesPerUser = 4 * backlogBytes
  /// Bytes of the logins that the sessions of one user may keep: eight sessions with as many as a
  /// line holds, or thousands with logins of a usual size.
  public static let loginBytesPerUser = 8 * lineBytes
  /// Sessions of one user in which requests wait for upstream at the same time: a program that
  /// starts with every account of its user asks for some ten. What waits there takes places in
  /// the queues of every profile.
  public static let waitingSessionsPerUser = 32

  // MARK: The memo of parsed requests

  /// Entries: far more than the distinct lines that the programs of one host send.
  public static let memoEntries = 1024
  /// Bytes of a line that is remembered: longer ones are rare and cost more to hold than to parse.
  public static let memoLineBytes = 256

  // MARK: Sessions and what upstream answers

  /// Sessions held: users times profiles. One takes some 4 KB with its credentials, and
  /// 3 KB in the descriptor store.
  public static let sessions = 100_000
  /// Bytes of a backend's reply: two tokens of 50,000 characters and room to spare.
  public static let backendReplyBytes = 256 << 10
  /// Bytes of a reply of Cognito or STS: a session token is under 4 KB, an OpenID token 50,000.
  public static let cognitoReplyBytes = 64 << 10
  /// Bytes a backend command may write: what its reply may hold, and a token.
  public static let execOutputBytes = 64 << 10

  // MARK: What a login may carry (Cognito API reference, GetId and GetCredentialsForIdentity)

  /// Logins in one map.
  public static let logins = 10
  /// Characters of a provider's name.
  public static let providerLength = 128
  /// Characters of a token.
  public static let tokenLength = 50_000
  /// Characters of an IdentityId.
  public static let identityIDLength = 55
  /// Characters of a CustomRoleArn.
  public static let customRoleARNLength = 20...2048
  /// Characters of a user name, Cognito's limit for a developer user identifier.
  public static let usernameLength = 1024
  /// Bytes of a password: longer than any that a login system takes.
  public static let passwordBytes = 4096

  // MARK: What a restart and a reboot leave

  /// Bytes of one session in the descriptor store: ten logins of 50,000 characters and two tokens.
  public static let snapshotBytes = 1 << 20
  /// Bytes of all sessions in the descriptor store, which are memory: 10 KB for each of the most
  /// there can be. Users with many large logins must not fill the host with them.
  public static let storeBytes = 1 << 30
  /// Bytes of one text of a session; the longest is a user name of 1024 characters.
  public static let snapshotTextBytes = 4096
  /// Bytes of one secret of a session: as large as a backend's reply.
  public static let snapshotSecretBytes = backendReplyBytes
  /// Bytes of the file of IdentityIds: those of all sessions, at some 200 bytes each.
  public static let identityFileBytes = 32 << 20
  /// Bytes of one line of that file.
  public static let identityLineBytes = 8192
}

/// What a configuration may measure. Each number is far above honest use and keeps a file that is
/// not a configuration at all (a core dump, a log) from costing more than a moment.
public enum ConfigurationLimits {
  /// Bytes of one file: 10,000 profiles of some 20 lines spread over a few files.
  public static let fileBytes = 1 << 20
  /// Bytes of one line without its end: the longest value is a list of names or an ARN of 2,048.
  public static let lineBytes = 8 << 10
  /// Files read together: the main file and what lies in its `.d` directory.
  public static let files = 1024
  /// Profiles in all files.
  public static let profiles = 10_000
  /// Backends in all files. Profiles share them, so few are ever needed.
  public static let backends = 1000
  /// Diagnostics reported one by one; the rest is counted.
  public static let diagnostics = 1000
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
  /// Characters of a developer user identifier (Cognito API reference, LookupDeveloperIdentity).
  public static let userIdentifierLength = 1024
  /// Principal tags of one token (Cognito API reference, GetOpenIdTokenForDeveloperIdentity).
  public static let principalTags = 50
  /// Managed policies of one session (STS API reference, AssumeRoleWithWebIdentity).
  public static let policyARNs = 10
}
