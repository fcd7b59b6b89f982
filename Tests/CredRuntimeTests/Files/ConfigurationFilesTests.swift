import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

struct ConfigurationFilesTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = "\(folder.path)/credd.conf"
  }

  private static let pool = "identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555\n"

  @Test func `the file, then its fragments in byte order`() throws {
    try folder.write("credd.conf", "main\n")
    for name in ["b.conf", "a.conf", "B.conf", "10.conf", "9.conf", "ä.conf", "z.conf"] {
      try folder.write("credd.conf.d/\(name)", "\(name)\n")
    }
    for name in [".hidden.conf", "a.conf~", "a.bak", "conf", "README"] {
      try folder.write("credd.conf.d/\(name)", "never read\n")
    }
    let files = try ConfigurationFiles.read(path).diagnostics.map(\.description)
      .filter { $0.hasPrefix(folder.path) }
      .map { $0.dropFirst(folder.path.count + 1).prefix { $0 != ":" } }
    expect(
      files,
      equals: [
        "credd.conf", "credd.conf.d/10.conf", "credd.conf.d/9.conf", "credd.conf.d/B.conf",
        "credd.conf.d/a.conf", "credd.conf.d/b.conf", "credd.conf.d/z.conf", "credd.conf.d/ä.conf",
      ])
  }

  @Test func `a fragment that its name keeps from being read is told of`() throws {
    expect(ConfigurationFiles.unread(beside: path), equals: [])
    let left = [".hidden", "a.conf~", "a.bak", "a.conf.dpkg-old", "a.conf.rpmsave", "README"]
    for name in left + ["a.conf", "work", "team.cfg", "corp.conf.txt"] {
      try folder.write("credd.conf.d/\(name)", "")
    }
    expect(
      ConfigurationFiles.unread(beside: path),
      equals: ["corp.conf.txt", "team.cfg", "work"].map { "\(path).d/\($0)" })
  }

  @Test func `fragments add profiles, and there need be none`() throws {
    try folder.write("credd.conf", "[profile a]\n" + Self.pool)
    expect(try ConfigurationFiles.read(path).configuration?.profiles.keys.sorted(), equals: ["a"])
    try folder.write("credd.conf.d/b.conf", "[profile b]\n" + Self.pool)
    expect(
      try ConfigurationFiles.read(path).configuration?.profiles.keys.sorted(), equals: ["a", "b"])
  }

  @Test func `a file that is missing or cannot be read is named`() throws {
    expect(failure(), equals: SystemError("cannot read \(path)", number: ENOENT))
    try folder.write("credd.conf", "")
    try folder.write("credd.conf.d/x.conf/y", "")
    expect(failure(), equals: SystemError("cannot read \(path).d/x.conf", number: EISDIR))
  }

  @Test func `a file that is far too large is refused without being read whole`() throws {
    try folder.write("credd.conf", "")
    unsafe truncate(path, 1 << 40)
    let reading = try ConfigurationFiles.read(path)
    expect(reading.configuration == nil)
    expect(!reading.diagnostics.isEmpty)
  }

  private func failure() -> SystemError? {
    do throws(SystemError) {
      _ = try ConfigurationFiles.read(path)
      return nil
    } catch {
      return error
    }
  }
}
