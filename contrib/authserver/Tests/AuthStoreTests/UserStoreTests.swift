import AuthCore
import AuthStore
import AuthTestSupport
import Testing

/// Accounts, their sign-ins and their devices. The same on both databases.
@Suite(.serialized) struct UserStoreTests {
  private let now = Example.now

  @Test(arguments: TestDatabase.allCases)
  func registeredNamesAreUnique(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    func register(_ name: String) async throws -> AuthStore.Registration {
      try await store.register(
        try Identifier(registering: name, as: .account), password: "h", invitation: nil,
        avoidsEnrolments: false, now: now)
    }
    #expect(try await register("zoe") == .done)
    #expect(try await register("zoe") == .nameTaken)
    #expect(try await register("ZOE") == .nameTaken)
    let name = "Robert'); DROP TABLE users;--"
    #expect(try await register(name) == .done)
    #expect(try await store.user("account:" + name)?.password == "h")
    #expect(try await store.user("account:zoe") != nil)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func anInvitationIsGoodOnce(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let invitation = Example.ticket(.invitation)
    let now = now
    try await store.invite(invitation, name: "zoe", expires: now + .days(7), now: now)
    let outcomes = try await withThrowingTaskGroup(of: AuthStore.Registration.self) { group in
      for index in 0..<8 {
        group.addTask {
          try await store.register(
            try Identifier(registering: "zoe", as: .account), password: "h\(index)",
            invitation: invitation, avoidsEnrolments: false, now: now)
        }
      }
      return try await group.reduce(into: [AuthStore.Registration]()) { $0.append($1) }
    }
    #expect(outcomes.filter { $0 == .done }.count == 1)
    #expect(outcomes.filter { $0 == .invitationUnknown }.count == 7)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func anInvitationRegistersItsNameAlone(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let invitations = [Example.ticket(.invitation), Example.ticket(.invitation)]
    for (name, invitation) in zip(["zoe", "yan"], invitations) {
      try await store.invite(invitation, name: name, expires: now + .days(7), now: now)
    }
    func register(_ name: String, _ invitation: Ticket) async throws -> AuthStore.Registration {
      let user = try Identifier(registering: name, as: .account)
      let isInvited = try await store.isInvited(user, by: invitation, now: now)
      let outcome = try await store.register(
        user, password: "h", invitation: invitation, avoidsEnrolments: false, now: now)
      #expect(isInvited == (outcome == .done))
      return outcome
    }
    for name in ["eve", "Zoe", "zoe2"] {
      #expect(try await register(name, invitations[0]) == .invitationUnknown)
    }
    // Who was refused did not use it up.
    #expect(try await register("zoe", invitations[0]) == .done)
    #expect(try await store.revokeInvitations(for: "yan", now: now))
    #expect(!(try await store.revokeInvitations(for: "yan", now: now)))
    #expect(!(try await store.revokeInvitations(for: "zoe", now: now)))
    #expect(try await register("yan", invitations[1]) == .invitationUnknown)
    let listed = try await store.invitations()
    #expect(Set(listed.map(\.name)) == ["yan", "zoe"])
    #expect(listed.first { $0.name == "zoe" }?.used == now)
    #expect(!listed.contains { $0.isOpen(at: now) })
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func withSharedNamesAnEnrolmentKeepsItsNames(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    try await store.enrol(
      try Example.host("web1", vouches: "svc-* root"), token: Example.ticket(.host))
    func register(_ name: String) async throws -> AuthStore.Registration {
      try await store.register(
        try Identifier(registering: name, as: .account, shared: true), password: "h",
        invitation: nil, avoidsEnrolments: true, now: now)
    }
    #expect(try await register("Root") == .nameCovered(host: "web1"))
    #expect(try await register("svc-x") == .nameCovered(host: "web1"))
    #expect(try await register("zoe") == .done)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aDeletedNameStaysTaken(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let user = try Identifier(registering: "zoe", as: .account)
    func register() async throws -> AuthStore.Registration {
      try await store.register(
        user, password: "h", invitation: nil, avoidsEnrolments: false, now: now)
    }
    #expect(try await register() == .done)
    #expect(try await store.delete(user: user.text))
    #expect(try await store.user(user.text)?.password == nil)
    #expect(try await store.user(user.text)?.isDisabled == true)
    #expect(try await register() == .nameTaken)
    #expect(try await store.delete(user: user.text, freesName: true))
    #expect(!(try await store.delete(user: user.text)))
    #expect(try await register() == .done)
    await store.close()
  }

  /// With shared names, who registered it would come into the identity that Cognito has for it.
  @Test(arguments: TestDatabase.allCases)
  func aVouchedUsersNameStaysTaken(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let (token, user) = (Example.ticket(.host), try Identifier("alice"))
    try await store.enrol(try Example.host(vouches: "alice"), token: token)
    _ = try await store.commit(
      [IdentityRecord(pool: "work", user: user, identityID: "us-east-1:aa")], notes: [],
      chain: "t", now: now)
    func register() async throws -> AuthStore.Registration {
      try await store.register(
        try Identifier(registering: "alice", as: .account, shared: true), password: "h",
        invitation: nil, avoidsEnrolments: true, now: now)
    }
    #expect(try await register() == .nameCovered(host: "web1"))
    #expect(try await store.revoke(host: "web1", now: now))
    #expect(try await store.delete(user: "alice"))
    #expect(try await store.user("alice")?.isDisabled == true)
    #expect(try await register() == .nameCovered(host: "web1"))
    try await store.enrol(try Example.host(vouches: "nobody"), token: nil)
    #expect(try await register() == .nameTaken)
    #expect(try await store.delete(user: "alice", freesName: true))
    #expect(try await register() == .done)
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func disablingAUserEndsSignIns(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    let session = Example.ticket(.session)
    let user = try await store.registerZoe()
    try await store.enrol(try Example.host(), token: Example.ticket(.host))
    let opened = Example.session(session)
    #expect(try await store.open(opened, on: Example.host(), password: "h"))
    #expect(try await store.setDisabled(true, user.text))
    #expect(try await store.user(user.text)?.isDisabled == true)
    #expect(try await store.close(session: session, host: "web1", now: now) == nil)
    #expect(!(try await store.open(opened, on: Example.host(), password: "h")))
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aSignInThatIsOvertakenIsTooLate(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    try await store.enrol(try Example.host(), token: Example.ticket(.host))
    let user = try await store.registerZoe()
    func open(_ password: String) async throws -> Bool {
      try await store.open(
        Example.session(Example.ticket(.session)), on: Example.host(), password: password)
    }
    #expect(try await open("h"))
    #expect(try await store.setPassword("new", of: user.text))
    #expect(!(try await open("h")))
    #expect(try await open("new"))
    #expect(try await store.revoke(host: "web1", now: now))
    #expect(!(try await open("new")))
    // Enrolled anew, it is another host.
    var again = try Example.host()
    again.created = now + .seconds(1)
    try await store.enrol(again, token: Example.ticket(.host))
    #expect(!(try await open("new")))
    await store.close()
  }

  @Test(arguments: TestDatabase.allCases)
  func aDeviceBelongsToItsFirstUser(_ database: TestDatabase) async throws {
    let store = try await database.makeStore()
    func keep(_ uid: String, _ user: String, _ second: Int64 = 0) async throws -> Bool {
      try await store.keep(
        SampleDevice(
          uid: uid, identifier: "sample:" + user, key: "k\(second)", created: now + .seconds(second)
        ), password: "s")
    }
    for name in ["bob", "eve"] {
      _ = try await store.register(
        try Identifier(registering: name, as: .sample), password: "s", invitation: nil,
        avoidsEnrolments: false, now: now)
    }
    #expect(try await keep("d1", "bob"))
    #expect(!(try await keep("d1", "eve")))
    #expect(try await keep("d1", "bob", 1))
    #expect(try await store.device("d1")?.key == "k1")
    #expect(try await store.revoke(device: "d1"))
    #expect(try await store.device("d1")?.isRevoked == true)
    for index in 0..<40 { #expect(try await keep("e\(index)", "bob", Int64(index + 10))) }
    #expect(try await store.devices(of: "sample:bob").count == Limits.devicesPerUser)
    #expect(try await store.useSignature("s", of: "sample:bob", now: now))
    #expect(!(try await store.useSignature("s", of: "sample:bob", now: now + .minutes(29))))
    #expect(try await store.useSignature("s", of: "sample:eve", now: now))
    await store.close()
  }
}
