import AuthCore
import CredCore
import Foundation
import Testing

/// Configuration, signatures, and the sample protocol's known answers.
struct ConfigurationTests {
  private func read(_ text: String) throws -> AuthCore.Configuration {
    try AuthCore.Configuration.read([(name: "a.conf", text: text)], credentialsDirectory: "/run/c")
  }

  private func errors(_ text: String) -> [String] {
    do {
      _ = try read(text)
      return []
    } catch let error as ConfigurationErrors {
      return error.lines
    } catch { return ["\(error)"] }
  }

  private let pool = """
    [pool work]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
    developer_provider = login.example.app

    """

  @Test func allKeysAreRead() throws {
    let read = try read(
      pool + """
        token_duration = 30m   ; a comment
        [server]
        listen = [::]:8443
        admin_listen = /run/x/admin
        proxy_protocol_from = 192.0.2.1, 2001:db8::/32 unix
        tls_certificate = /etc/c.pem
        tls_key = ${CREDENTIALS_DIRECTORY}/key
        client_ca_file = /etc/ca.pem
        database = postgresql://db.example.com/auth
        registration = invite
        session_lifetime = 8h
        quota = 25/s
        shared_names = yes
        [aws]
        credential_process = /usr/bin/credctl get -p dev
        cognito_endpoint = http://127.0.0.1:4599
        [sample]
        pool = work
        host_name = login.example.com
        """)
    #expect(read.listen == .network(host: "::", port: 8443))
    #expect(read.adminListen == .unixSocket(path: "/run/x/admin"))
    #expect(read.tlsKey == "/run/c/key")
    #expect(read.database == .postgres(url: "postgresql://db.example.com/auth?sslmode=verify-full"))
    #expect(read.registration == .invite)
    #expect(read.proxies.isUnixSocket && read.proxies.networks.count == 2)
    #expect(read.sessionLifetime == .hours(8))
    #expect(read.quota == 25)
    #expect(read.sharedNames)
    #expect(read.aws.credentialProcess == ["/usr/bin/credctl", "get", "-p", "dev"])
    #expect(read.pools["work"]?.tokenDuration == .minutes(30))
    #expect(read.sample?.hostName == "login.example.com")
  }

  @Test func theFormIsCreddsOwn() throws {
    let text =
      "\u{FEFF}[pool \t work]\r\nidentity_pool_id = us-east-1:11\r\n"
      + "developer_provider = \"login.example.app\" # a comment\r\n[aws]\r\n"
      + #"credential_process = "/opt/my keys/print" --for "a \"b\"""# + "\r\n"
    let read = try read(text)
    #expect(read.pools["work"]?.developerProvider == "login.example.app")
    #expect(read.aws.credentialProcess == ["/opt/my keys/print", "--for", #"a "b""#])
    for (line, problem) in [
      ("listen = \"a", "not closed"), (" listen = a:1", "starts with white space"),
      ("listen = \"127.0.0.1:1\"x", "follows the closing quote"), ("listen = a\u{1}", "U+0001"),
    ] {
      let found = errors(text + "[server]\n" + line)
      #expect(found.count == 1 && found[0].hasPrefix("a.conf:7: ") && found[0].contains(problem))
    }
  }

  @Test func everyMistakeIsNamedWithItsLine() {
    let errors = errors(
      pool + """
        [server]
        lisen = 127.0.0.1:1
        quota = 40
        quota = 41/s
        registration = maybe
        [serber]
        [pool]
        """)
    #expect(errors.contains("a.conf:5: unknown key 'lisen' in [server]; did you mean 'listen'?"))
    #expect(errors.contains { $0.hasPrefix("a.conf:6: quota: '40' is not calls a second") })
    #expect(errors.contains { $0.hasPrefix("a.conf:7: duplicate key 'quota'") })
    #expect(
      errors.contains {
        $0.hasPrefix("a.conf:8: registration: 'maybe' is not known; known are closed")
      })
    #expect(errors.contains("a.conf:9: unknown section [serber]; did you mean 'server'?"))
    #expect(errors.contains { $0.hasPrefix("a.conf:10: unknown section [pool]") })
  }

  @Test(arguments: [
    "[server]\nlisten = 0.0.0.0:80", "[server]\nlisten = *:80", "[server]\nlisten = 127.0.0.01:80",
    "[server]\nproxy_protocol_from = 192.0.2.1/24", "[server]\nproxy_protocol_from = balancer",
    "[server]\ntls_certificate = /a",
    "[server]\nclient_ca_file = /a",
    "[server]\ndatabase = postgresql://db.example.com/x?sslmode=require",
    "[server]\ndatabase = postgresql://127.0.0.1/x?host=db.example.com&sslmode=disable",
    "[server]\ndatabase = relative.db",
    "[aws]\ncognito_endpoint = http://cognito.example.com",
    "[aws]\ncognito_endpoint = https://cognito.example.com/path",
    "[aws]\ncognito_endpoint = https://me@cognito.example.com",
    "[pool two]\nidentity_pool_id = us_east:11\ndeveloper_provider = login",
    "[aws]\ncredentials_file = /a\ncredential_process = /b",
    "[sample]\npool = work",
  ])
  func whatWouldNotBeSafeIsRefused(_ text: String) {
    #expect(!errors(pool + text).isEmpty)
  }

  @Test(arguments: [
    ("session_lifetime = 1h30", "'1h30' is not a duration"),
    ("session_lifetime = 91d", "'91d' is not a duration from 1m to 90d"),
    ("session_lifetime = 61500ms", "'61500ms' is not a whole number of seconds"),
    ("shared_names = maybe", "'maybe' is neither yes nor no"),
    ("quota = 40/m", "'40/m' is not calls"),
    ("listen = ::1:8443", "'::1:8443' is not ADDRESS:PORT"),
    ("listen = 127.0.0.1:80:8443", "'127.0.0.1:80:8443' is not ADDRESS:PORT"),
    ("listen = [::1]:80:8443", "'[::1]:80:8443' is not ADDRESS:PORT"),
    ("listen = localhost::80", "'localhost::80' is not ADDRESS:PORT"),
    ("listen = 127.0.0.1:+80", "'127.0.0.1:+80' is not"), ("listen = a/b:80", "'a/b:80' is not"),
    ("listen = 127.0.0.1:65536", "'127.0.0.1:65536' is not"),
    ("admin_listen = systemd", "'systemd' is not ADDRESS:PORT"),
    ("proxy_protocol_from = 192.0.2.1 x", "'x' is not an address"),
    ("tls_key = key.pem", "is not an absolute path"),
    ("tls_key = ${HOME}/key.pem", "names ${HOME}: the only variable here is"),
    ("database = postgresql://me:s3cret@db.example.com/x?sslmode=require", "is neither a path"),
    ("database = postgresql://me:a?s3cret@db.example.com/x", "has a second @, or one behind a ?"),
    ("database = postgresql://me:a@s3cret@db.example.com/x", "has a second @, or one behind a ?"),
  ])
  func aWrongValueIsNamedWithItsKey(_ line: String, _ problem: String) {
    let key = line.prefix { $0 != " " }
    let errors = errors(pool + "[server]\n" + line)
    #expect(errors.first?.hasPrefix("a.conf:5: \(key): \(problem)") ?? false, "\(errors)")
    #expect(!"\(errors)".contains("s3cret"))
  }

  @Test func valuesAreReadAsCreddReadsThem() throws {
    let read = try read(
      pool + "[server]\nsession_lifetime = 1h30m\nshared_names = on\nlisten = [::1]:0")
    #expect(read.sessionLifetime == .minutes(90) && read.sharedNames)
    #expect(read.listen == .network(host: "::1", port: 0))
    #expect(Interval("1d12h") == .hours(36) && Interval("90") == .seconds(90))
    #expect(Interval("1500ms") == nil && Interval("1h1h") == nil)
  }

  @Test(arguments: [
    "postgresql:///auth", "postgresql://auth@/auth?host=/run/postgresql",
    "postgresql://127.0.0.1/auth", "postgresql://%2Frun%2Fpostgresql/auth",
  ])
  func aLocalDatabaseNeedsNoTLS(_ url: String) throws {
    #expect(try read(pool + "[server]\ndatabase = \(url)").database == .postgres(url: url))
  }

  @Test func aPoolIsNeeded() {
    #expect(
      errors("") == [
        "it is not configured yet: there is no [pool NAME], and tokens are for identity pools; "
          + "authserver.md shows one"
      ])
  }
}

/// What this server's libcrypto computes, by credd's signatures.
struct SignatureTests {
  /// Computed with botocore's SigV4Auth for the same request.
  @Test func theSignatureIsBotocores() throws {
    let host = try AWSHost(.cognitoIdentity, region: "us-east-1")
    let request = host.request("AWSCognitoIdentityService.LookupDeveloperIdentity") {
      $0.key("IdentityPoolId")
      $0.string("us-east-1:aa")
    }
    let keys = SigV4(
      accessKeyID: "AKIDEXAMPLE", secretAccessKey: Secret("secret"), sessionToken: Secret("token"))
    let time = try #require(Timestamp(iso8601: "2026-01-02T03:04:05Z"))
    let signed = try keys.sign(
      request, for: host, digests: Libcrypto(), now: time.wallTime)
    let authorization = signed.headers.first { $0.name == "Authorization" }?.value.exposedText()
    #expect(authorization == Self.expected)
  }

  private static let expected =
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/cognito-identity/aws4_request, "
    + "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, "
    + "Signature=2f93433473fd8ef290aaac7762ff5a19b4c45de1d922792c027694fb54db44a7"
}

struct SampleProtocolTests {
  private let sample = SampleProtocol(host: "localhost")
  private let salted = "bec8a2c77c36323b295a4933e50956fc7b365cf8a818fac3de751db4df8a6a13"
  private let timestamp = "2015-09-22T18:08:03Z"
  private let key = "00112233445566778899aabbccddeeff"

  @Test func knownAnswers() {
    #expect(sample.salted(username: "bob", password: "secret123") == salted)
    #expect(
      SampleProtocol.loginSignature(salted: salted, timestamp: timestamp)
        == "17779e60bbd829651955623dfc6757be161a7d2f2b6451e6c87b85b514614fa5")
    #expect(
      SampleProtocol.encrypt(
        SampleProtocol.loginReply(key: key), hexKey: String(salted.prefix(32)),
        iv: Array(0...15))
        == "AAECAwQFBgcICQoLDA0OD8hP04R5g+wd/5mZs07pVxFXGtXded65wy5qB88a/z0wFDN2n7fPwB7X5/3q/6c27w=="
    )
    #expect(
      SampleProtocol.tokenSignature(
        key: key, timestamp: timestamp, logins: [("login.x", "bob")],
        identityID: "us-east-1:11111111-2222-3333-4444-555555555555")
        == "23101cbd7149128866fec5379d6e90e0d54e21ef7ee0d5828f1d9b455eaf6339")
  }

  @Test func timestampsAreGoodForAQuarterOfAnHour() throws {
    let now = try #require(Timestamp(iso8601: timestamp))
    #expect(SampleProtocol.isTimely(timestamp, at: now + .minutes(15)))
    #expect(!SampleProtocol.isTimely(timestamp, at: now + .seconds(901)))
    #expect(!SampleProtocol.isTimely("2015-09-22 18:08:03", at: now))
  }

  @Test func namesAndDevicesHaveTheirOwnSyntax() {
    #expect(SampleProtocol.isUsername("bob_1@x.y"))
    #expect(!SampleProtocol.isUsername("bo"))
    #expect(!SampleProtocol.isUsername("bob'--"))
    #expect(!SampleProtocol.isDevice("a b"))
  }
}
