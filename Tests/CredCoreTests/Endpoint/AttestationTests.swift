import CredCore
import TestSupport
import Testing

/// The cases in which the kernel was seen to answer, each as it did.
struct AttestationTests {
  private func judge(
    isOfOtherEnd: Bool = true, state: UInt8 = 1, uid: UInt32 = 1234, inode: UInt32 = 7,
    own: UInt8? = 1
  ) -> Result<UInt32, AttestationFailure> {
    Result { () throws(AttestationFailure) in
      try AttestedPeer(
        SocketReport(
          isOfOtherEnd: isOfOtherEnd, state: state, uid: uid, inode: inode, controlGroup: 5),
        ownState: own
      ).uid
    }
  }

  @Test func anOpenConnectionIsItsMakers() {
    expect(judge(), equals: .success(1234))
    expect(judge(uid: 0), equals: .success(0))
  }

  @Test func aClosedClientIsNotRoot() {
    expect(judge(state: 5, uid: 0, inode: 0), equals: .failure(.closed))
    expect(judge(state: 6, uid: 0, inode: 0), equals: .failure(.closed))
    expect(judge(state: 1, uid: 0, inode: 0), equals: .failure(.closed))
  }

  @Test func aListenerIsNoClient() {
    expect(judge(isOfOtherEnd: false, state: 10), equals: .failure(.anotherSocket))
    expect(judge(state: 10), equals: .failure(.notEstablished))
  }

  @Test func aHalfClosedConnectionProvesNothing() {
    expect(judge(state: 5), equals: .failure(.notEstablished))
  }

  @Test func aSuccessorOnTheSamePortIsNotTheMaker() {
    expect(judge(uid: 2222, own: 7), equals: .failure(.ownEndClosed))
    expect(judge(uid: 2222, own: nil), equals: .failure(.ownEndClosed))
    expect(judge(uid: 2222, own: 8), equals: .failure(.ownEndClosed))
  }
}

struct ControlGroupPathTests {
  @Test(arguments: [
    ("/system.slice/billing.service", "billing.service"),
    ("/system.slice/system-job.slice/job@a\\x2db.service", "job@a\\x2db.service"),
    ("/system.slice/billing.service/payload/worker", "billing.service"),
    ("/init.scope", "init.scope"),
    ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
    (
      "/user.slice/user-1000.slice/user@1000.service/app.slice/app.service",
      "user@1000.service/app.service"
    ),
    ("/user.slice/user-1000.slice/user@1000.service/init.scope", "user@1000.service/init.scope"),
    ("/user.slice/user-1000.slice/user@1000.service", "user@1000.service"),
    ("/machine.slice/libpod-abc.scope/container", "libpod-abc.scope"),
    // What is inside a unit that was given its own groups is that unit's word.
    ("/system.slice/a.service/b.service", "a.service"),
    ("/system.slice/a.service/system.slice/b.service", "a.service"),
    ("/system.slice/_dash.service", "dash.service"),
  ])
  func theOutermostUnitIsTheCallers(_ path: String, _ unit: String) {
    expect(ControlGroupPath.unit(path), equals: unit)
  }

  @Test(arguments: ["", "/", "/system.slice", "/docker/abc", "/a.slice/b/c.service", "/x.scopes"])
  func otherPathsAreInNoUnit(_ path: String) {
    expect(ControlGroupPath.unit(path) == nil)
  }
}
