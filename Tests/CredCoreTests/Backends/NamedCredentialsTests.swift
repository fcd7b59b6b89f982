import TestSupport
import Testing

@testable import CredCore

struct NamedCredentialsTests {
  private static let folder = "/run/credentials/credd.service"

  private func names(_ texts: String..., folder: String = Self.folder) -> NamedCredentials {
    NamedCredentials(in: texts.map { Array($0.utf8) }, folder: folder)
  }

  @Test func aCommandThatNamesNoneGetsNone() {
    expect(names(), equals: .files([]))
    expect(
      names("/usr/bin/ask", "", "/run/credentials", "run/credentials/credd"), equals: .files([]))
  }

  @Test(arguments: [
    "/run/credentials/credd.service/ldap",
    "--password-file=/run/credentials/credd.service/ldap",
    "-y/run/credentials/credd.service/ldap",
    "/run/credentials/credd.service//ldap",
  ])
  func aWordThatIsOrEndsWithAPathNamesTheFile(_ word: String) {
    expect(names("/usr/bin/ask", word), equals: .files(["ldap"]))
    expect(names(word, folder: Self.folder + "/"), equals: .files(["ldap"]))
  }

  @Test func aFileWhoseNameGoesOnIsAnotherFile() {
    expect(names(Self.folder + "/ldap-old"), equals: .files(["ldap-old"]))
    expect(names(Self.folder + "-old/ldap", Self.folder + "2"), equals: .files([]))
  }

  @Test func manyFilesMayBeNamedInOneText() {
    let (one, two) = (Self.folder + "/one", Self.folder + "/two")
    for text in ["\(one):\(two)", "cat \(one) '\(two)'", "\(one),\(two)", "cat <\(one) | f \(two)"]
    {
      guard case .files(let found) = names(text) else {
        Issue.record("\(text) names everything")
        continue
      }
      expect(found.contains("one") && found.contains("two"), "\(text): \(found)")
    }
    expect(names(one, two, one), equals: .files(["one", "two"]))
  }

  @Test(arguments: ["", "/", "//", ":/etc", " x", "'"])
  func theDirectoryItselfStandsForEverythingInIt(_ end: String) {
    expect(names("sh", Self.folder + end), equals: .everything)
  }

  @Test func noPathLeadsOutOfTheDirectory() {
    expect(names(Self.folder + "/..", Self.folder + "/a/../../b"), equals: .files([]))
    expect(names(Self.folder + "/a..b"), equals: .files(["a..b"]))
  }
}
