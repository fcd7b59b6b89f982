import CredCore
import Testing

@testable import CredRuntime

/// Calls that wait on the loop for what an ``Admission`` decides.
struct GateTests {
  private static func call(_ id: CallID) -> Admission.Call {
    Admission.Call(id: id, lane: "work", isInPerson: false, isRetry: false)
  }

  @Test func oneAtATimeAndWhoIsWithdrawnDoesNotWait() throws {
    let thread = try LoopThread()
    defer { thread.stop() }
    let messages = try thread.run { stage in
      let gate = Gate(.backend("corp"), .init(rate: .perSecond(1000), width: 1))
      var ids = CallIDs()
      let (first, second, third) = (ids.next(), ids.next(), ids.next())
      var messages: [String] = []
      messages.append(await gate.enter(Self.call(first), stage.loop) {}?.message ?? "entered")
      messages.append(
        await gate.enter(Self.call(second), stage.loop) {
          gate.handle(.withdrawn(second), stage.loop)
        }?
        .message ?? "entered")
      messages.append(
        await gate.enter(Self.call(third), stage.loop) {
          gate.handle(.ended(first, nil), stage.loop)
        }?
        .message ?? "entered")
      return messages
    }
    #expect(messages == ["entered", "the call to backend corp is no longer wanted", "entered"])
  }

  @Test func anOutageEndsCallsAtOnce() throws {
    let thread = try LoopThread()
    defer { thread.stop() }
    let failures = try thread.run { stage in
      let gate = Gate(.cognitoIdentity, .init(rate: .perSecond(1000), width: 8))
      var ids = CallIDs()
      var failures: [UpstreamFailure?] = []
      for _ in 1...6 {
        let id = ids.next()
        failures.append(await gate.enter(Self.call(id), stage.loop) {})
        let failure = UpstreamFailure.transport(.connect, from: .cognitoIdentity)
        gate.handle(.ended(id, failure), stage.loop)
      }
      return failures
    }
    #expect(failures.prefix(5).allSatisfy { $0 == nil })
    #expect(failures.last??.message.hasPrefix("offline since ") == true)
  }
}
