/// Limits of requests to upstreams, and of their replies.
extension Limits {
  /// Replies of upstreams, and AWS's limits for requests.
  public enum Upstream {
    /// Bytes of a backend's reply: two tokens of 50,000 characters, and more.
    public static let backendReplyBytes = 256 << 10
    /// Bytes of a reply of Cognito or STS: a session token has less than 4 KB, an OpenID token at
    /// most 50,000.
    public static let awsReplyBytes = 64 << 10
    /// Bytes that a backend's command may write: a token and the JSON around it.
    public static let commandOutputBytes = 64 << 10
    /// The longest `Retry-After` that credd obeys. If a server names a later time, credd asks it
    /// again after this time.
    public static let longestRetryAfter = Duration.seconds(3600)
    /// From this difference of the clocks on credd signs by AWS's time, where AWS refused the time of a
    /// signature. AWS allows five minutes; a reply's `Date` has whole seconds and is on its way for some.
    public static let signatureSkew = Duration.seconds(4 * 60)

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

    /// Attributes in one request about an account, fewer than the values that a request line may
    /// have.
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
    /// Characters of the token.
    public static let webIdentityTokenLength = 4...20_000
    /// Seconds that a role session lasts. The role's own maximum may be lower.
    public static let roleSeconds = 900...43_200
    /// Characters of a session policy.
    public static let policyLength = 1...2048
    /// Managed policies of one session.
    public static let policyARNs = 10
    /// Seconds of a session that GetScopedCredentials narrows (botocore's model of 2026-11-19).
    public static let scopeSeconds = 1...129_600
    /// Characters of what CloudTrail shows of it.
    public static let scopeDescriptionLength = 2...256
    /// Seconds of narrowed credentials that `duration` may ask for.
    static let narrowedSeconds = 60...129_600
    /// Seconds of a role that is assumed from another one: role chaining ends after an hour (STS API
    /// reference, AssumeRole).
    static let chainedRoleSeconds = 900...3600
    /// Tags of a session, and the lengths of their names and values (AssumeRole).
    static let sessionTags = 50
    static let sessionTagNameLength = 1...128
    static let sessionTagValueLength = 0...256
    /// AssumeRole's ExternalId.
    static let externalIDLength = 2...1224
    /// AssumeRole's SourceIdentity.
    static let sourceIdentityLength = 2...256
    /// Profiles in a row that are derived from one another.
    static let derivedProfiles = 2
  }

  /// Cognito user pools. A limit without a reason is from the API reference.
  public enum UserPool {
    /// Bytes of a reply: three tokens, or a challenge with parameters of 64 KiB.
    public static let replyBytes = 256 << 10
    /// Bytes of SECRET_BLOCK in base64. Cognito's has some 1.5 KB.
    public static let secretBlockBytes = 64 << 10
    /// Characters of a pool's id.
    public static let poolIDLength = 55
    /// Characters of an app client's id.
    public static let clientIDLength = 128
    /// Characters of an app client's secret.
    public static let clientSecretLength = 64
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
    /// Characters of a device group's key. Cognito's have some 10.
    public static let groupKeyLength = 256
    /// Bytes of a challenge's name, of a choice that it offers, and of a second factor's name.
    public static let challengeNameLength = 64
    /// Characters of an authenticator app's secret in base32: RFC 4226 requires 128 bits, which are
    /// 26 characters. Cognito's secrets have 52, an emulator's 16.
    public static let appSecretLength = 16...256
    /// Characters of an attribute's name.
    public static let attributeNameLength = 32
    /// Characters of an attribute's value.
    public static let attributeLength = 2048
    /// Bytes of an attribute's value: at most four for each character in UTF-8.
    public static let attributeBytes = 4 * attributeLength
    /// Bytes of a challenge's Session. Cognito's have at most 4096.
    public static let sessionBytes = 16 << 10
    /// Devices on one page of a list.
    public static let devicesOfPage = 60
    /// Characters of a tracked session's id.
    public static let sessionIDLength = 28
    /// Pages of the list in which credd looks for the session that it uses. A page has up to 125
    /// sessions. A user has 100 sessions of apps and some of browsers.
    public static let sessionPages = 4
    /// Bytes of an answer to a challenge of the pool's own trigger, and of one value of
    /// ClientMetadata.
    public static let answerBytes = 131_072
    /// Entries of ClientMetadata and of ValidationData. More fit into no request line.
    public static let metadataEntries = 64
  }

  /// OpenID Connect providers, and the responses that a browser brings back from them.
  public enum OIDC {
    /// Bytes of a reply: three tokens, or a discovery document with long lists.
    public static let replyBytes = 256 << 10
    /// Bytes of a URL from a provider or to one: as many as browsers and servers accept.
    public static let urlBytes = 8 << 10
    /// Bytes of an issuer: it is compared and shown, and becomes a key of the logins map.
    public static let issuerBytes = 512
    /// Bytes of a client's id. Some are URLs.
    public static let clientIDBytes = 512
    /// Bytes of a client's secret, or of a key in PEM.
    public static let clientSecretBytes = 16 << 10
    /// Bytes of the query that a browser brings.
    public static let responseBytes = 16 << 10
    /// Parameters of that query. Providers add further parameters.
    public static let responseParameters = 64
    /// Bytes of a code. Some are encrypted tokens of 4 KB.
    public static let codeBytes = 8 << 10
    /// Characters of `sub` (OpenID Connect Core 1.0, 2).
    public static let subjectLength = 255
    /// Characters of a user code: people type it.
    public static let userCodeLength = 64
    /// Redirect URIs, identity providers, audiences and further parameters of one backend.
    public static let values = 64
    /// Scopes of one sign-in.
    public static let scopes = 64
    /// How long a sign-in waits for its browser.
    public static let browserTime = Duration.seconds(10 * 60)
    /// How long a sign-in waits for a device code, whatever the provider says.
    public static let deviceTime = Duration.seconds(30 * 60)
    /// How long a sign-in waits for a device code if the provider does not say how long its code
    /// lasts. Of the providers that say it, the quickest allow this time.
    public static let unsaidDeviceTime = Duration.seconds(5 * 60)
    /// Seconds between two questions for a device code. A provider that says less would be asked
    /// too often. With a longer time the code would end first.
    public static let pollSeconds = 1.0...300.0
    /// How far a provider's clock may be behind the provider's `Date`, or behind this host's clock.
    public static let clockSkew = Duration.seconds(5 * 60)
  }
}
