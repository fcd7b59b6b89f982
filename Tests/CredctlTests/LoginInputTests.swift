import CredCore
import CredctlKit
import Foundation
import TestSupport
import Testing

struct LoginInputTests {
  private func line(_ keys: String) -> PasswordLine.Step {
    var line = PasswordLine()
    for key in keys.utf8 {
      let step = line.typed(key)
      if step != .more { return step }
    }
    return .more
  }

  @Test func readsAPasswordKeyByKey() {
    expect(line("secret\r"), equals: .done(Secret("secret")))
    expect(line("secret\n"), equals: .done(Secret("secret")))
    expect(line("secret"), equals: .more)
    expect(line("wrong\u{15}right\r"), equals: .done(Secret("right")))
    expect(line("a\u{1B}b\r"), equals: .done(Secret("ab")))
  }

  /// A terminal that a program has left in that mode puts marks around what is pasted.
  @Test func whatIsPastedIsItsText() {
    expect(line("\u{1B}[200~s3cret[x]\u{1B}[201~\r"), equals: .done(Secret("s3cret[x]")))
    expect(line("a\u{1B}[200~b\u{1B}[201~c\r"), equals: .done(Secret("abc")))
    expect(line("\u{1B}[200~pasted\r\u{1B}[201~"), equals: .done(Secret("pasted")))
    // Nor is an arrow key or a deletion a part of it.
    expect(line("a\u{1B}[D\u{1B}[1;5C\u{1B}[3~b\r"), equals: .done(Secret("ab")))
    // F1, as most terminals and as the Linux console send it.
    expect(line("a\u{1B}OPb\r"), equals: .done(Secret("ab")))
    expect(line("a\u{1B}[[Ab\r"), equals: .done(Secret("ab")))
    expect(line("a\u{1B}O\r"), equals: .done(Secret("a")))
    expect(line("[200~a\r"), equals: .done(Secret("[200~a")))
    expect(line("a\u{1B}[200\u{3}"), equals: .cancelled)
  }

  @Test func readsTextsForTriggers() throws {
    let entries = try MetadataOption.entries(["a=1", "b=", "c=x=y"])
    expect(entries.map(\.name), equals: ["a", "b", "c"])
    expect(entries.map(\.text), equals: [Secret("1"), Secret(""), Secret("x=y")])
    var line = RequestLine(operation: "respond")
    line.add(metadata: entries)
    expect(
      String(decoding: line.finished(), as: UTF8.self),
      equals: #"{"op":"respond","client_metadata":{"a":"1","b":"","c":"x=y"}}"# + "\n")
    for wrong in [["a"], ["=1"], ["a=1", "a=2"], (0...64).map { "n\($0)=1" }] {
      #expect(throws: Failure.self) { try MetadataOption.entries(wrong) }
    }
  }

  /// A password that was right is not asked for again.
  @Test func knowsWhichRefusalIsOfThePassword() {
    var refusal = Refusal(code: "SignInFailed", message: "no")
    expect(Failure(refusal, profile: nil).isRefusedPassword)
    refusal.reason = "PasswordAccepted"
    expect(!Failure(refusal, profile: nil).isRefusedPassword)
  }

  @Test func removesWholeCharacters() {
    expect(line("pä\u{7F}ö\r"), equals: .done(Secret("pö")))
    expect(line("\u{7F}\u{8}x\r"), equals: .done(Secret("x")))
  }

  @Test func cancels() {
    expect(line("abc\u{3}"), equals: .cancelled)
    expect(line("\u{4}"), equals: .cancelled)
    expect(line("a\u{4}\r"), equals: .done(Secret("a")))
  }

  @Test func readsSources() throws {
    expect(try LoginSource("a.com=@/x=y").origin, equals: .file("/x=y"))
    expect(try LoginSource("arn:aws:iam::1:saml-provider/x=-").origin, equals: .standardInput)
    expect(try LoginSource("a.com=-").provider, equals: "a.com")
    expect(try LoginSource("keycloak/realms/x=-").provider, equals: "keycloak/realms/x")
  }

  @Test func knowsShortNamesOfProviders() throws {
    for (name, provider) in [
      ("facebook", "graph.facebook.com"), ("google", "accounts.google.com"),
      ("amazon", "www.amazon.com"), ("apple", "appleid.apple.com"), ("twitter", "api.twitter.com"),
    ] {
      expect(try LoginSource("\(name)=@f").provider, equals: provider)
      #expect(throws: Failure.self) { try LoginSource.list(["\(name)=-", "\(provider)=@f"]) }
    }
  }

  /// Cognito would refuse it with words that name no name.
  @Test(arguments: [
    ("fb", "the short names are amazon, apple, facebook, google, twitter"),
    ("Google", "did you mean 'google'?"), ("facebok", "did you mean 'facebook'?"),
    ("x", "login.example.com"),
  ])
  func refusesANameThatNoProviderHas(_ name: String, _ part: String) {
    let error = #expect(throws: Failure.self) { try LoginSource("\(name)=@f") }
    expect(error?.status, equals: .usage)
    expect(error?.message.contains("there is no provider '\(name)'") == true)
    expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
  }

  @Test func anAttributeKeepsItsName() throws {
    let sources = try LoginSource.list(
      ["google=@f", "given_name=-"], option: "--attribute", names: .attributes)
    expect(sources.map(\.provider), equals: ["google", "given_name"])
  }

  /// credctl(1) lists them: `.Li a , b and c are short for .Li x , y and z`.
  @Test func takesTheShortNamesOfTheManual() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/man/credctl.1"), encoding: .utf8)
    let parts = page.components(separatedBy: "are short for")
    expect(parts.count, equals: 2)
    func names(_ lines: some Sequence<Substring>) -> [String] {
      lines.filter { $0.hasPrefix(".Li ") }.flatMap {
        $0.dropFirst(4).split(whereSeparator: { " ,".contains($0) }).map(String.init)
      }.filter { $0 != "." }
    }
    let before = parts[0].split(separator: "\n").suffix(4).drop { !$0.hasPrefix(".Li ") }
    let after = parts[1].split(separator: "\n").prefix { !$0.hasPrefix(".It") }
    let (short, long) = (names(before), names(after))
    expect(short.count >= 4 && short.count == long.count, "\(short) \(long)")
    for (name, provider) in zip(short, long) {
      expect(try LoginSource("\(name)=@f").provider, equals: provider)
    }
  }

  @Test(arguments: ["", "a.com", "=-", "a.com=", "a.com=@", "a.com=eyJsecret"])
  func refusesASource(_ text: String) {
    let error = #expect(throws: Failure.self) { try LoginSource(text) }
    expect(error?.status, equals: .usage)
    expect(error?.message.contains("eyJsecret") == false)
  }

  @Test(arguments: [
    ["a.com=-", "b.com=-"], ["a.com=-", "a.com=@f"], (0...10).map { "p\($0).com=@f" },
  ])
  func refusesSourcesThatContradictEachOther(_ texts: [String]) {
    #expect(throws: Failure.self) { try LoginSource.list(texts) }
  }

  @Test func trimsTokensAndKeepsPasswords() throws {
    expect(
      try SecretText.token(Array(" \ttok en\r\n\n".utf8), name: "token"), equals: Secret("tok en"))
    expect(try SecretText.password(Array(" p \r\nmore".utf8)), equals: Secret(" p "))
  }

  @Test func aMarkOfAnEditorIsNoPartOfASecret() throws {
    expect(
      try SecretText.token(Array("\u{FEFF}token\r\n".utf8), name: "token"), equals: Secret("token"))
    expect(try SecretText.password(Array("\u{FEFF} p \r\n".utf8)), equals: Secret(" p "))
    expect(
      try Answers(json: Array("\u{FEFF}{\"code\":\"1\"}".utf8)),
      equals: try Answers(json: Array("{\"code\":\"1\"}".utf8)))
    #expect(throws: Failure.self) { try SecretText.password(Array("\u{FEFF}\r\n".utf8)) }
  }

  @Test(arguments: [[], [0x20, 0x0A], [0xFF]] as [[UInt8]])
  func refusesTextsThatAreNoToken(_ bytes: [UInt8]) {
    #expect(throws: Failure.self) { try SecretText.token(bytes, name: "token") }
  }

  @Test func rendersALogin() {
    var request = RequestLine(operation: "login", profile: "w")
    request.add("logins", [("a.com", Secret("t\"1")), ("b.com", Secret("t2"))])
    expect(
      String(decoding: request.finished(), as: UTF8.self),
      equals: #"{"op":"login","profile":"w","logins":{"a.com":"t\"1","b.com":"t2"}}"# + "\n")
  }
}
