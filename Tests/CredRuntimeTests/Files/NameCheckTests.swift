import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime

/// Names of a configuration beside those of a host that is made up.
struct NameCheckTests {
  private typealias Finding = NameCheck.Finding

  /// How often all names were asked for.
  private final class Lists: Sendable {
    let count = Atomic(0)
  }

  private func check(_ lists: Lists = Lists()) -> NameCheck {
    let users: [String: (UInt32, String?)] = [
      "bob": (1001, "bob"), "robert": (1001, "bob"), "1002": (2000, "1002"), "1003": (1003, "1003"),
      "Zoë": (1004, "Zoe\u{308}"), "nameless": (1005, nil),
    ]
    let database = NameDatabase(
      find: { kind, name in
        switch (kind, name) {
        case (_, "broken"): .failed(EIO)
        case (.group, "staff"): .id(50, first: nil)
        case (.group, "60"): .id(61, first: nil)
        case (.group, _): .nobody
        case (.user, _): users[name].map { NameDatabase.Answer.id($0.0, first: $0.1) } ?? .nobody
        }
      },
      names: { kind in
        lists.count.add(1, ordering: .relaxed)
        return kind == .user ? Array(users.keys) : ["staff"]
      })
    return NameCheck(database, BoundedWait())
  }

  @Test(
    arguments: [
      (.user, "bob"), (.user, "1001"), (.user, "1003"), (.user, "77"), (.user, "nameless"),
      (.group, "staff"), (.group, "50"),
    ] as [(NameDatabase.Kind, String)])
  func `names that mean what they say are good`(_ kind: NameDatabase.Kind, _ name: String) {
    var check = check()
    expect(check.check(kind, name) == nil, "\(name)")
  }

  @Test(
    arguments: [
      (
        .user, "robert",
        "'robert' is another name of 'bob', uid 1001, and credd knows a user by the uid's first name alone: "
          + "write 'bob'"
      ),
      (
        .user, "Zoë",
        "'Zoë' is another name of 'Zoe\u{308}', uid 1004, and credd knows a user by the uid's first name "
          + "alone: write 'Zoe\u{308}'"
      ),
      (
        .user, "1002",
        "1002 is taken as a uid, and the user that has this as its name has the uid 2000: if that is meant, "
          + "write 2000"
      ),
      (
        .group, "60",
        "60 is taken as a gid, and the group that has this as its name has the gid 61: if that is meant, "
          + "write 61"
      ),
      (.user, "robret", "the host has no user 'robret'; did you mean 'robert'?"),
      (.group, "saff", "the host has no group 'saff'; did you mean 'staff'?"),
      (.user, "xyzzy", "the host has no user 'xyzzy'"),
      (
        .user, "staff",
        "the host has no user 'staff', but a group of that name: groups are named by 'allow_groups' alone"
      ),
    ] as [(NameDatabase.Kind, String, String)])
  func `a name that means nobody, or another one, has its reason`(
    _ kind: NameDatabase.Kind, _ name: String, _ fault: String
  ) {
    var check = check()
    expect(check.check(kind, name), equals: .fault(fault))
  }

  @Test func `a database that fails leaves the check undone`() {
    var check = check()
    let expected = Finding.unmade(
      "user 'broken': the user database fails: Input/output error")
    expect(check.check(.user, "broken"), equals: expected)
  }

  @Test func `all names are asked for once, and only where one is missing`() {
    let lists = Lists()
    var check = check(lists)
    _ = check.check(.user, "bob")
    expect(lists.count.load(ordering: .relaxed), equals: 0)
    for name in ["nobody-1", "nobody-2", "nobody-3"] { _ = check.check(.user, name) }
    expect(lists.count.load(ordering: .relaxed), equals: 1)
  }

  /// Every host has root.
  @Test func `the host's own database has users, groups and their names`() {
    expect(NameDatabase.host.find(.user, "root"), equals: .id(0, first: "root"))
    expect(NameDatabase.host.find(.group, "root"), equals: .id(0, first: nil))
    expect(NameDatabase.host.find(.user, "no such user"), equals: .nobody)
    for kind in [NameDatabase.Kind.user, .group] {
      expect(NameDatabase.host.names(kind).contains("root"))
    }
  }
}
