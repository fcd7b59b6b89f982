import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The content of files that a configuration names.
extension ConfigurationCheckTests {
  @Test(
    arguments: [
      ("\n", "holds nothing but white space"), ("one\ntwo\n", "has more than one line"),
      ("o\0n\0e\0", "holds a NUL byte: save it as UTF-8"), ("\u{FEFF}one\r\n", nil),
    ] as [(String, String?)])
  func aFileOfTwoLinesIsNamedByItsKeyAndPath(_ content: String, _ fault: String?) throws {
    let secret = try file("secret", content)
    let sandbox = try Sandbox()
    let (process, path) = try check(
      Configuration.usual(sandbox, backend: "bearer_token_file = \(secret)")
        + "\nallow_users = *\n")
    expect(process.status, equals: fault == nil ? 0 : EX_CONFIG, "\(process.errors)")
    let line = complaints(process).first.map(String.init)
    expect(line?.hasPrefix("\(path):") ?? false, equals: fault != nil)
    expect(
      line.map { String($0.drop { $0 != " " }.dropFirst()) },
      equals: fault.map { "bearer_token_file: '\(secret)' \($0)" })
  }

  /// Others may be no secret: credd cannot tell.
  @Test(arguments: [0o644, 0o640])
  func aValueThatEverybodyCanReadIsWarnedOf(_ mode: Int) throws {
    let secret = try file("secret", "one\n")
    let path = try file(
      "credd.conf",
      """
      [backend corp]
      type = http
      url = https://auth.example.com/token
      header.X-Team = infra
      header.User-Agent = credd
      header_file.X-Api-Key = \(secret)
      [backend script]
      type = exec
      command = /bin/true
      environment.KEY = abc
      environment.LC_ALL = C
      environment_file.OTHER = \(secret)
      """, mode: mode)
    let process = try check(file: path)
    expect(process.status, equals: 0, "\(process.errors)")
    let words =
      "every user of this host can read this value: if it is a secret, 'chmod o-r' \(path), or write it "
      + "to a file of its own, and name that by"
    let expected = [
      "\(path):4: warning: header.X-Team: \(words) 'header_file.X-Team'",
      "\(path):10: warning: environment.KEY: \(words) 'environment_file.KEY'",
    ]
    let told = complaints(process).filter { $0.contains("every user of this host") }
    expect(told.map(String.init), equals: mode == 0o644 ? expected : [])
    // Nobody else reaches a file in a folder that is closed.
    try FileManager.default.createDirectory(
      atPath: path + ".closed", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try FileManager.default.copyItem(atPath: path, toPath: path + ".closed/credd.conf")
    let closed = try check(file: path + ".closed/credd.conf")
    expect(!closed.errors.contains("every user of this host"), "\(closed.errors)")
    // A link there does not close the file to which it leads.
    let link = path + ".closed/link.conf"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let linked = try check(file: link)
    expect(linked.errors.contains("every user of this host"), equals: mode == 0o644)
  }

  @Test
  func aStartWarnsOfAValueThatEverybodyCanReadToo() throws {
    let host = try TestHost { Configuration.usual($0, backend: "header.X-Api-Key = abc") }
    let words = "warning: header.X-Api-Key: every user of this host can read this value"
    try Deadline.usual.wait(for: "the warning") { host.log.contains(words) }
    expect(!host.log.contains("abc"))
  }

  @Test(.enabled(if: Programs.installed("openssl") != nil, "takes openssl"))
  func aKeyThatIsEncryptedOrAnothersIsNamed() throws {
    let folder = try Stage.current().newFile("keys")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let script = """
      set -eu; cd "$0"
      for name in own other; do
        openssl ecparam -name prime256v1 -genkey -noout -out $name.key
        openssl req -x509 -new -key $name.key -subj /CN=$name -days 2 -out $name.pem
      done
      openssl pkcs8 -topk8 -in own.key -passout pass:hush -out closed.key
      cat own.pem own.key >both.pem; cat own.pem closed.key >shut.pem; cat own.pem other.key >mixed.pem
      """
    let made = try ChildProcess(["/bin/sh", "-c", script, folder])
    try #require(try made.wait() == 0, "\(made.errors)")
    func complaint(_ certificate: String, _ key: String?) throws -> String? {
      try self.complaint(certificate, key, in: folder)
    }
    let closed =
      "holds a private key with a passphrase, which credd does not have: "
      + "'openssl pkey -in KEY -out NEW' writes one without"
    let other = "does not belong to the certificate in"
    expect(try complaint("own.pem", "own.key") == nil)
    expect(try complaint("both.pem", nil) == nil)
    expect(
      try complaint("own.pem", "closed.key"), equals: "client_key: '\(folder)/closed.key' \(closed)"
    )
    expect(
      try complaint("shut.pem", nil), equals: "client_certificate: '\(folder)/shut.pem' \(closed)")
    expect(
      try complaint("own.pem", "other.key"),
      equals: "client_key: the private key in '\(folder)/other.key' \(other) '\(folder)/own.pem'")
    expect(
      try complaint("mixed.pem", nil),
      equals: "client_certificate: the private key in '\(folder)/mixed.pem' \(other) "
        + "'\(folder)/mixed.pem'")
    expect(
      try complaint("own.pem", "own.pem"),
      equals: "client_key: '\(folder)/own.pem' has no '-----BEGIN … PRIVATE KEY-----' in it")
  }

  /// The complaint about a client certificate, without its place.
  private func complaint(
    _ certificate: String, _ key: String?, in folder: String
  ) throws -> String? {
    let keys = key.map { "client_key = \(folder)/\($0)" } ?? ""
    let (process, _) = try check(
      """
      [backend corp]
      type = http
      url = https://auth.example.com/token
      client_certificate = \(folder)/\(certificate)
      \(keys)
      """)
    let lines = complaints(process).filter { !$0.contains("warning:") }
    expect(lines.count <= 1, "\(process.errors)")
    return lines.first.map { String($0.drop { $0 != " " }.dropFirst()) }
  }

  @Test(
    .enabled(if: Programs.installed("openssl") != nil, "takes openssl"),
    arguments: [
      ("own.pem", "torn.key", "client_key: 'torn.key' cannot be read as a private key"),
      ("torn.pem", "own.key", "client_certificate: 'torn.pem' cannot be read as a certificate"),
      ("torn.pem", "torn.key", "client_certificate: 'torn.pem' cannot be read as a certificate"),
      ("both.pem", nil, "client_certificate: 'both.pem' cannot be read as a private key"),
    ] as [(String, String?, String)])
  func aPairOfWhichALineIsDamagedIsNamed(
    _ certificate: String, _ key: String?, _ said: String
  ) throws {
    let folder = try Stage.current().newFile("keys")
    let script = """
      set -eu; umask 077; mkdir "$0"; cd "$0"
      openssl ecparam -name prime256v1 -genkey -noout -out own.key
      openssl req -x509 -new -key own.key -subj /CN=own -days 2 -out own.pem
      for name in own.key own.pem; do sed '2s/...../&!/' $name >torn.${name#own.}; done
      cat own.pem torn.key >both.pem
      """
    let made = try ChildProcess(["/bin/sh", "-c", script, folder])
    try #require(try made.wait() == 0, "\(made.errors)")
    expect(
      try complaint(certificate, key, in: folder)?.replacing(folder + "/", with: ""),
      equals: said + ": a line of it is damaged, or OpenSSL does not know its kind")
  }

  /// libcurl takes no certificate of a file in which one is damaged.
  @Test(
    .enabled(if: Programs.installed("openssl") != nil, "takes openssl"),
    arguments: [
      ("cat own.pem own.pem", nil), ("sed 's/$/\\r/' own.pem", nil),
      ("cat own.pem torn.pem", "cannot be read: the block that begins in line LAST is damaged"),
      ("cat torn.pem own.pem", "cannot be read: the block that begins in line 1 is damaged"),
      (
        "tr '\\n' '\\r' <own.pem",
        "has no certificate that OpenSSL finds: each line must end in a line feed"
      ),
    ] as [(String, String?)])
  func aFileOfAuthoritiesThatLibcurlRefusesIsNamed(_ command: String, _ said: String?) throws {
    let folder = try Stage.current().newFile("authorities")
    let script = """
      set -eu; mkdir "$0"; cd "$0"
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout own.key \
        -subj /CN=own -days 2 -out own.pem
      sed '2s/...../&!/' own.pem >torn.pem
      \(command) >ca.pem; wc -l <own.pem
      """
    let made = try ChildProcess(["/bin/sh", "-c", script, folder])
    try #require(try made.wait() == 0, "\(made.errors)")
    let (process, _) = try check(
      """
      [backend corp]
      type = http
      url = https://auth.example.com/token
      ca_file = \(folder)/ca.pem
      """)
    let lines = complaints(process).filter { !$0.contains("warning:") }
    let last = (Int(made.output.filter(\.isNumber)) ?? 0) + 1
    let expected = said.map { "'\(folder)/ca.pem' " + $0.replacing("LAST", with: "\(last)") }
    expect(lines.count, equals: expected == nil ? 0 : 1, "\(process.errors)")
    expect(expected.map { lines.first?.hasSuffix($0) == true } ?? true, "\(lines)")
  }
}
