import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// What a pid alone can tell, where the kernel has no pidfd of the peer (spire#6035). With one, the
/// tests on a booted systemd say more.
struct CallerUnitTests {
  private let now: Instant

  init() throws {
    now = try EventLoop().now
  }

  @Test func `an old process of the same user may be the peer`() {
    let peer = Peer(uid: getuid(), gid: getgid(), pid: getpid())
    expect(CallerUnit.isOlder(peer, than: now))
  }

  @Test func `one that began after the connection is not`() throws {
    let peer = Peer(uid: getuid(), gid: getgid(), pid: getpid())
    expect(!CallerUnit.isOlder(peer, than: Instant(nanoseconds: 1)))
  }

  @Test func `another user's is not`() {
    let peer = Peer(uid: getuid() + 1, gid: getgid(), pid: getpid())
    expect(!CallerUnit.isOlder(peer, than: now))
  }

  @Test func `none is not`() {
    // Above the largest pid that Linux gives.
    let peer = Peer(uid: getuid(), gid: getgid(), pid: 1 << 22 + 1)
    expect(!CallerUnit.isOlder(peer, than: now))
    expect(CallerUnit.name(of: peer, on: -1, accepted: now) == nil)
  }

  @Test func `a peer outside this pid namespace has no unit`() {
    let peer = Peer(uid: getuid(), gid: getgid(), pid: 0)
    expect(CallerUnit.name(of: peer, on: -1, accepted: now) == nil)
  }

  /// `hidepid=1` refuses other users' files in /proc, `hidepid=2` shows no trace of them.
  @Test func `a process of which proc shows nothing is hidden, one that has ended is not`() {
    for number in [EACCES, EPERM] { expect(CallerUnit.isHidden(number) { false }) }
    for number in [ENOENT, ESRCH] {
      expect(CallerUnit.isHidden(number) { true })
      expect(!CallerUnit.isHidden(number) { false })
    }
    expect(!CallerUnit.isHidden(0) { true })
    expect(!CallerUnit.isHidden(Peer(uid: getuid(), gid: getgid(), pid: getpid())))
    expect(!CallerUnit.isHidden(Peer(uid: getuid(), gid: getgid(), pid: 1 << 22 + 1)))
  }

  /// EINVAL and ESRCH are what kernels say of a peer that was reaped.
  @Test(arguments: [ESRCH, EINVAL, ENODATA, EMFILE, EBADF, ENOTCONN])
  func `only a kernel without pidfds of peers leaves the pid to be trusted`(_ number: Int32) {
    expect(PeerProcess(answer: -number), equals: .gone)
    expect(PeerProcess(answer: -ENOPROTOOPT), equals: .unnamed)
    expect(PeerProcess(answer: 7), equals: .known(7))
  }
}
