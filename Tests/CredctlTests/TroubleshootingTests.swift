import CredctlKit
import Foundation
import TestSupport
import Testing

@testable import CredCore

/// docs/troubleshooting.md has every failure of FailureTable: the text, how credctl ends, and who acts.
struct TroubleshootingTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
  private static let page = root.appending(path: "docs/troubleshooting.md")

  private struct Group {
    let title: String
    let upstream: Upstream
    let rows: [FailureTable.Row]
  }

  private static let backend = Upstream.backend("corp")

  /// A text that stands in several groups stays in the first.
  private static let groups = [
    Group(
      title: "The network, TLS and HTTP: any server", upstream: backend,
      rows: transports + [
        FailureTable.html, FailureTable.redirect, FailureTable.proxyRefuses,
        FailureTable.malformedReply, FailureTable.serverFault, FailureTable.throttledByStatus,
        FailureTable.unknownRefusal,
      ] + FailureTable.anyService),
    Group(
      title: "Calls that credd did not make", upstream: backend,
      rows: [
        FailureTable.notSent, FailureTable.fileOverdue, FailureTable.queueFull(of: backend),
        FailureTable.queueFull(of: .cognitoIdentity), FailureTable.queueFull(of: .sts),
        FailureTable.notAsked, FailureTable.retriesUsedUp,
      ]),
    Group(
      title: "A backend of your own, by its status", upstream: backend,
      rows: [400, 401, 403, 404, 408, 409, 429, 500, 503].map(FailureTable.backend)
        + [FailureTable.hostNotAuthorized, FailureTable.hostRefused, FailureTable.hostUnknown]
        + [FailureTable.nothingAtPath, FailureTable.backendMissesPool, FailureTable.tlsWanted]
        + [401, 404, 200].compactMap { FailureTable.webPage(webPage($0)) }
        + [401].map(FailureTable.signIn) + [400, 401, 404, 409].map(FailureTable.signUp)
        + [FailureTable.wrongPool]),
    Group(
      title: "A command (`type = exec`)", upstream: backend,
      rows: [64, 67, 75, 77, 1].map(FailureTable.exec) + [
        FailureTable.execNotStarted, FailureTable.execNoResources, FailureTable.execKilled,
      ]),
    Group(title: "Cognito Identity", upstream: .cognitoIdentity, rows: FailureTable.cognito),
    Group(
      title: "The developer credentials of `type = cognito`", upstream: backend,
      rows: FailureTable.signature + FailureTable.denialsOfKeys),
    Group(
      title: "STS, in the basic flow", upstream: .sts,
      rows: FailureTable.sts + FailureTable.denialsOfToken),
    Group(title: "STS, in `flow = direct`", upstream: .sts, rows: FailureTable.direct),
    Group(
      title: "STS, for derived profiles", upstream: .sts,
      rows: FailureTable.scope + FailureTable.hop + FailureTable.denialsOfSource),
    Group(
      title: "A user pool", upstream: backend,
      rows: UserPoolPurpose.allCases.flatMap { purpose in
        FailureTable.userPool(purpose)
          + [FailureTable.unknownUserPoolError("", purpose)].compactMap(\.self)
      } + [FailureTable.noSuchPool]),
    Group(
      title: "An OpenID Connect provider", upstream: backend,
      rows: OIDCPurpose.allCases.flatMap { purpose in
        FailureTable.rows(of: purpose)
          + [404, 400].map {
            FailureTable.oidc(HTTPReply(status: $0, body: Secret("")), nil, purpose)
          }
      } + FailureTable.authorization + [
        FailureTable.unknownAuthorizationError, FailureTable.unusableResponse,
        FailureTable.unusableProvider, FailureTable.unusableKeys, FailureTable.refusedIDToken,
        FailureTable.anotherSubject, FailureTable.withdrawnAccount, FailureTable.noIDTokenAtSignIn,
        FailureTable.noIDTokenAtRenewal, FailureTable.noRefreshToken, FailureTable.movedProvider,
        FailureTable.noDeviceGrant,
      ]),
  ]

  /// What is said of a server that is called by `https://`, of one without TLS, of one of AWS, and of
  /// each kind of file of this host; and what others than administrators read.
  private static var transports: [FailureTable.Row] {
    let servers = [
      server("https://auth.example.com/token", .key("url")),
      server("http://auth.example.com/token", .key("url")),
    ]
    let region = server(
      "https://cognito-identity.us-esat-1.amazonaws.com/", .region("identity_pool_id"))
    let general = [.nameResolution, .otherHost].map { FailureTable.transport($0) }
    let named = TransportFailure.allCases.flatMap { failure in
      servers.map { server in
        var failure = failure
        if failure.kind == .otherHost { failure.certificateNames = ["other.example"] }
        failure.proxy = Proxy.Name(variable: "https_proxy", address: "proxy.example.com:3128")
        return FailureTable.transport(failure, at: server)
      }
    }
    let files = OwnTLSFile.allCases.map { file in
      var failure = TransportFailure.ownFile
      failure.ownFile = file
      return FailureTable.transport(failure, at: servers[0])
    }
    let proxies = [407, 403, 503, 400].map { status in
      var failure = TransportFailure(.proxyRefused)
      failure.proxy = Proxy.Name(variable: "https_proxy", address: "proxy.example.com:3128")
      failure.proxyStatus = status
      return FailureTable.transport(failure, at: servers[0])
    }
    return [FailureTable.transport(.nameResolution, at: region)] + named + proxies + files + general
  }

  private static func server(_ url: String, _ origin: HostOrigin) -> CalledServer? {
    var settings = HTTPSettings(timeout: .seconds(1), replyLimit: 1)
    settings.hostOrigin = origin
    return CalledServer(url: url, settings)
  }

  private static func webPage(_ status: Int) -> HTTPReply {
    HTTPReply(status: status, body: Secret("<!DOCTYPE html><html></html>"))
  }

  private static func status(_ failure: UpstreamFailure) -> Int32 {
    let error = failure.protocolError
    let refusal = Refusal(
      code: error.code.rawValue, message: error.message,
      retryAfter: error.retryAfter.map { Int($0.components.seconds) }, kind: error.kind.rawValue)
    return Failure(refusal, profile: "work").status.code
  }

  /// Who acts, and what credd does meanwhile.
  private static func next(_ row: FailureTable.Row) -> String {
    switch row.failureClass {
    case .transient where row.severity == .operatorMustAct:
      "an administrator; credd goes on asking, with growing pauses"
    case .transient: "nobody: credd asks again, with growing pauses"
    case .throttled: "nobody: credd asks again, more slowly"
    case .newTokenOnce, .dropIdentityThenNewToken, .retryWithoutIdentity:
      "credd asks once more, with a new token; if the text stays, an administrator"
    case .newIdentity: "credd asks once for a new identity; if the text stays, an administrator"
    case .signInRequired: "the user: sign in again"
    case .signInFailed where row.code == .poolMisconfigured: "an administrator"
    case .signInFailed: "the user: try again"
    case .refusedByBackend, .unknownUser: "those who run the server"
    case .conflict, .poolMisconfigured, .permanentConfiguration: "an administrator"
    }
  }

  private static func table(_ group: Group, _ seen: inout Set<String>) -> String {
    var lines = [
      "#### \(group.title)\n\n| After the server's name you read | credctl ends with | Who acts |\n"
        + "|---|---|---|\n"
    ]
    for row in group.rows {
      let text = row.message.trimmingPrefix(": ").trimmingPrefix(" ")
      let end = "\(status(UpstreamFailure(group.upstream, row))) | \(next(row))"
      let line = "| \(text) | \(end) |\n"
      guard seen.insert(line).inserted else { continue }
      lines.append(line)
    }
    return lines.joined()
  }

  private static var rendered: String {
    var seen = Set<String>()
    return groups.map { table($0, &seen) }.joined(separator: "\n")
  }

  /// `UPDATE_GOLDEN=1` writes the tables anew.
  @Test func thePageHasEveryFailure() throws {
    let (start, end) = ("<!-- failures -->\n\n", "\n<!-- end of failures -->")
    var page = try String(contentsOf: Self.page, encoding: .utf8)
    let first = try #require(page.firstRange(of: start)).upperBound
    let last = try #require(page[first...].firstRange(of: end)).lowerBound
    guard ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" else {
      return expect(String(page[first..<last]), equals: Self.rendered)
    }
    page.replaceSubrange(first..<last, with: Self.rendered)
    try page.write(to: Self.page, atomically: true, encoding: .utf8)
  }

  /// No text of the table's sources is missing, such as that of a row that no group above lists.
  @Test func noTextIsLeftOut() throws {
    let folder = Self.root.appending(path: "Sources/CredCore/Failures")
    let rendered = Self.rendered
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("FailureTable") {
      let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      for line in source.split(separator: "\n") where !line.contains("//") {
        for literal in line.matches(of: #/"(?<text>[: ][^"\\]{16,})"/#) {
          let text = literal.output.text.trimmingPrefix(": ").trimmingPrefix(" ")
          expect(rendered.contains(text), "\(name): \(text)")
        }
      }
    }
  }

  // MARK: What the other tables quote

  /// What systemd, AWS and their clients say; and commands.
  private static let foreign = [
    "Failed to", "Job failed", "Socket service", "status=", "NoRegionError", "FileNotFoundError",
    "credd.service", "systemctl", "account mfa",
  ]

  /// The sources of the programs, without what divides a text into lines.
  private static func sources() throws -> Data {
    let folder = root.appending(path: "Sources")
    var text = ""
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    where name.hasSuffix(".swift") && !name.contains("andbox") {
      let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      for line in source.split(separator: "\n") {
        text += line.drop { $0 == " " } + "\n"
      }
    }
    for divider in ["\"\n+ \"", "\\\n"] {
      text = text.replacingOccurrences(of: divider, with: "")
    }
    return Data(text.utf8)
  }

  /// The texts in the first column of a page's tables, without the examples in them.
  private static func quotedTexts(of page: String) throws -> [String] {
    let text = try String(contentsOf: root.appending(path: page), encoding: .utf8)
    let own = text.components(separatedBy: "\n## SDKs and the AWS CLI")[0]
    let example =
      #/…|(?:^| )'[^']*'|"[^"]*"|/[\w./-]+|\(Connection refused\)|Address already in use/#
    return own.split(separator: "\n").filter { $0.hasPrefix("| ") }.flatMap { row in
      let cell = row.dropFirst(2).components(separatedBy: " | ")[0]
      guard cell.prefixMatch(of: #/Cognito: |STS: /#) == nil else { return [String]() }
      return cell.matches(of: /`([^`]*)`/).map { String($0.1) }
        .filter { quoted in !foreign.contains { quoted.hasPrefix($0) } }
        .flatMap { $0.split(separator: example).map(String.init) }
    }
  }

  /// Half of the words of each text stand in a row in a source; the others may be put in.
  @Test(arguments: ["docs/troubleshooting.md", "docs/units.md", "docs/oidc.md"])
  func theProgramsCanSayWhatThePagesQuote(_ page: String) throws {
    let sources = try Self.sources()
    var count = 0
    for text in try Self.quotedTexts(of: page) {
      let words = text.trimmingCharacters(in: .init(charactersIn: " ,;:.()?")).split(separator: " ")
      guard words.count > 2 else { continue }
      let length = max(2, words.count / 2)
      let isSaid = (0...words.count - length).contains { start in
        let run = words[start..<start + length].joined(separator: " ")
        return sources.range(of: Data(run.utf8)) != nil
      }
      expect(isSaid, "no program says \(text)")
      count += 1
    }
    expect(count > 2)
  }
}
