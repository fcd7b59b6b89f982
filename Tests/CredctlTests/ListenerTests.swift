import CredctlKit
import TestSupport
import Testing

/// Whom credctl sends a request.
struct ListenerTests {
  private func listener(
    _ uid: UInt32, own: UInt32 = 1000, inNamespace: Bool = false, credd: UInt32? = 990
  ) -> Listener {
    Listener(
      uid: uid, own: own, overflow: { 65534 }, hasEveryUid: { !inNamespace }, daemonUser: { credd })
  }

  @Test func rootTheUserAndTheUserOfTheDaemonAreTrusted() {
    for uid in [0, 1000, 990] as [UInt32] { expect(listener(uid), equals: .trusted) }
    expect(listener(1001), equals: .stranger(uid: 1001))
    expect(listener(990, credd: nil), equals: .stranger(uid: 990))
    // Whoever runs as nobody is an ordinary user on the host.
    expect(listener(65534), equals: .stranger(uid: 65534))
    expect(listener(65534, own: 65534), equals: .trusted)
  }

  @Test func nothingIsLookedUpForRoot() {
    let listener = Listener(
      uid: 0, own: 1000,
      overflow: {
        Issue.record("read")
        return 65534
      },
      hasEveryUid: {
        Issue.record("read")
        return true
      },
      daemonUser: {
        Issue.record("looked up")
        return nil
      })
    expect(listener, equals: .trusted)
  }

  @Test func anUnmappedListenerIsNobodysInANamespace() {
    expect(listener(65534, inNamespace: true), equals: .unmapped)
    // A caller without a uid of its own is not the same user.
    expect(listener(65534, own: 65534, inNamespace: true), equals: .unmapped)
    expect(listener(0, inNamespace: true), equals: .trusted)
    expect(listener(1000, inNamespace: true), equals: .trusted)
  }

  private let given = SocketPath(argument: "/s", environment: { _ in nil }, exists: { _ in true })
  private let user = SocketPath(
    argument: nil, environment: { $0 == "XDG_RUNTIME_DIR" ? "/r" : nil }, exists: { _ in true })

  @Test func aTrustedListenerGetsEverything() {
    for socket in [given, user, .system] {
      expect(Listener.trusted.judgement(of: socket, .toKnownListener), equals: .send)
    }
  }

  @Test func aStrangerGetsNothing() {
    for secret in [SecretDelivery.none, .toKnownListener, .toAnyListener] {
      for socket in [given, .system] {
        guard case .refuse(let failure) = Listener.stranger(uid: 5).judgement(of: socket, secret)
        else {
          Issue.record("\(socket) was sent a request")
          continue
        }
        expect(failure.status, equals: .notPermitted)
        expect(failure.message.contains("\(socket.path) belongs to uid 5"))
      }
      expect(Listener.stranger(uid: 5).judgement(of: user, secret), equals: .passOver)
    }
  }

  @Test func anUnmappedListenerGetsASecretOnlyIfToldSo() {
    for socket in [given, .system] {
      expect(Listener.unmapped.judgement(of: socket, .none), equals: .send)
      expect(Listener.unmapped.judgement(of: socket, .toAnyListener), equals: .send)
      guard case .refuse(let failure) = Listener.unmapped.judgement(of: socket, .toKnownListener)
      else {
        Issue.record("a secret was sent")
        continue
      }
      expect(failure.status, equals: .notPermitted)
      expect(failure.message.contains("--trust-socket"))
    }
    expect(Listener.unmapped.judgement(of: user, .none), equals: .passOver)
  }
}
