import AuthCore
import Testing

/// Names, patterns, addresses and passwords that are not what they look like.
struct LookalikeTests {
  private let now = Timestamp(milliseconds: 1_000_000)

  @Test(arguments: ["Account:bob", "ACCOUNT:bob", "Sample:bob", "sAMPLE:bob"])
  func aVouchedNameDoesNotLookLikeAnAccounts(_ name: String) {
    #expect(throws: InvalidName.self) { try Identifier(name) }
  }

  @Test(arguments: ["web1\u{0}", "we\u{0}b1", "web 1", "web1\n", "wéb1", "", "*"])
  func aCertificateNamesAHostOrNothing(_ name: String) {
    #expect(throws: InvalidName.self) { try Enrolment.checkName(name) }
  }

  @Test(arguments: [
    ("\u{430}lice", "looks like 'alice'"),
    ("\u{440}\u{430}\u{443}\u{440}\u{430}", "looks like 'paypa'"),
    ("b\u{3BF}b", "looks like 'bob'"), ("al\u{131}ce", "looks like 'alice'"),
    ("ma\u{A0}rie", "holds U+00A0, which is no letter"),
    ("ma\u{2800}rie", "holds U+2800, which is no letter"), ("o\u{2019}hara", "holds U+2019"),
    ("\u{FF41}lice", "holds U+FF41, a form of 'a'"),
    ("bob\u{1D7CF}", "holds U+1D7CF, a form of '1'"),
    ("bo\u{431}", "mixes letters of Cyrillic and Latin"),
  ])
  func aNameThatIsTakenForAnotherIsWarnedOf(_ name: String, _ looks: String) throws {
    let user = try Identifier(registering: name, as: .account)
    #expect(user.lookalike?.hasPrefix(looks) == true, "\(user.lookalike ?? "nothing")")
  }

  /// Also what no rule of these finds: letters of one script that look alike.
  @Test(arguments: [
    "alice", "al1ce", "aIice", "mary ann", "josé", "björn", "straße", "łukasz", "пётр", "юрий7",
    "νίκος",
    "田中さくら", "カタカナ漢字", "김철수", "王小明", "علي",
  ])
  func aNameOfOneLanguageIsNot(_ name: String) throws {
    #expect(try Identifier(registering: name, as: .account).lookalike == nil)
  }

  @Test(arguments: ["*", "**", "?*", "*?", "??*", "*?*?*", "alice, ?*"])
  func allPatternsThatCoverEverybodyAreKnown(_ text: String) throws {
    #expect(try Patterns(text).coverEverybody)
  }

  @Test(arguments: ["svc-*", "?", "????", "*-web", "{host}*", "alice bob"])
  func otherPatternsAreNotTakenForThose(_ text: String) throws {
    #expect(try !Patterns(text).coverEverybody)
  }

  @Test func withSharedNamesAPatternKeepsWhatLooksLikeItsNames() throws {
    for name in ["Web1", "web1", "WEB1"] {
      #expect(try Patterns("{host}").cover(name, host: "Web1", folded: true))
    }
    // One letter is two when it is folded.
    #expect(try Patterns("stra?e").cover("straße", host: "web1", folded: true))
    #expect(try Patterns("STRASSE").cover("straße", host: "web1", folded: true))
    #expect(try !Patterns("{host}").cover("web10", host: "Web1", folded: true))
  }

  /// The host was enrolled and the name registered at the same moment.
  @Test func nobodyVouchesForAnAccount() throws {
    let user = try Identifier("alice")
    var host = Enrolment(
      name: "web1", rights: HostRights(vouches: try Patterns("alice"), pools: ["work"]),
      created: now)
    func decide() throws -> Vouching.Decision {
      try Vouching.decide(
        host, for: user, pool: "work", provider: "dev", session: nil, isAccount: true, at: now)
    }
    #expect(throws: Refusal.notVouched) { try decide() }
    host.rights.signsIn = try Patterns("alice")
    #expect(throws: Refusal.signInRequired) { try decide() }
  }
}

/// Settings that look safe.
struct UnsafeSettingTests {
  private func read(_ text: String) throws -> Configuration {
    try Configuration.read([
      (
        name: "a.conf",
        text: "[pool work]\nidentity_pool_id = us-east-1:11\ndeveloper_provider = dev\n[server]\n"
          + text
      )
    ])
  }

  @Test(arguments: [
    "listen = 127.evil.example:80", "listen = 127.0.0.1.evil.example:80",
    "database = postgresql://127.evil.example/a?sslmode=disable",
    "database = postgresql://db.example.com/a?sslmode=verify-full&sslmode=disable",
    "database = postgresql://db.example.com/a?sslmode=verify-full&%73slmode=disable",
    "database = postgresql://db.example.com/a?sslmode=verify-full&service=other",
    "database = postgresql:///a?host=/tmp,db.example.com&sslmode=disable",
    "database = postgresql:///a?host=/tmp%2Cdb.example.com&sslmode=disable",
    "database = postgresql://%2Ftmp%2Cdb.example.com/a?sslmode=disable",
    "database = postgresql://127.0.0.1,db.example.com/a?sslmode=disable",
    "database = postgresql://localhost?x@evil.example/a",
    "database = postgresql://127.0.0.1:pw?a=b@evil.example:9/a",
    "database = postgresql://auth:pa?ss@db.example.com/a?sslmode=verify-full",
    "database = postgresql://auth:p@evil.example,x@127.0.0.1/a?sslmode=disable",
    "database = postgresql:///a?hostaddr=192.0.2.1&sslmode=disable",
    "admin_listen = systemd",
    "[aws]\ncognito_endpoint = http://127.evil.example",
    "[aws]\ncognito_endpoint = http://127.0.0.1@evil.example",
  ])
  func whatOnlyLooksLocalOrCheckedIsRefused(_ text: String) {
    #expect(throws: ConfigurationErrors.self) { try read(text) }
  }

  /// Without a mode of its own it gets the strict one.
  @Test(arguments: [
    "postgresql://db.example.com/a", "postgresql://127.evil.example/a",
    "postgresql:///a?host=/tmp,db.example.com", "postgresql://%2Ftmp%2Cdb.example.com/a",
    "postgresql://auth:pa%3Fss%40@db.example.com/a",
  ])
  func anotherMachineIsCheckedByItsCertificate(_ url: String) throws {
    guard case .postgres(let read) = try read("database = \(url)").database else {
      Issue.record("it is not PostgreSQL")
      return
    }
    #expect(read.hasSuffix("sslmode=verify-full"))
  }

  /// ServiceLifecycle prints whole structures where debug messages are wanted.
  @Test func aPasswordInTheDatabasesAddressIsNotPrinted() throws {
    let configuration = try read(
      "database = postgresql://auth:hidden-password@127.0.0.1/a?sslmode=verify-full")
    for text in ["\(configuration)", String(reflecting: configuration)] {
      #expect(!text.contains("hidden-password"))
    }
  }
}
