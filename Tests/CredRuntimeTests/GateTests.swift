import CredCore
import Testing

@testable import CredRuntime

/// Calls that wait on the loop for what an ``Admission`` decides.
struct GateTests {
  private static func call(_ id: UInt64) -> Admission.Call {
    Admission.Call(id: id, lane: "work", isInPerson: false, isRetry: false)
  }

  @Test func oneAtATimeAndWhoIsWithdrawnDoesNotWait() throws {
    let thread = try LoopThread()
    defer { thread.stop() }
    let messages = try thread.run { stage in
      let gate = Gate(.backend("corp"), .init(rate: .perSecond(1000), width: 1))
      var messages: [String] = []
      messages.append(await gate.enter(Self.call(1), stage.loop) {}?.message ?? "entered")
      messages.append(
        await gate.enter(Self.call(2), stage.loop) { gate.handle(.withdrawn(2), stage.loop) }?
          .message ?? "entered")
      messages.append(
        await gate.enter(Self.call(3), stage.loop) { gate.handle(.ended(1, nil), stage.loop) }?
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
      var failures: [UpstreamFailure?] = []
      for id in 1...6 as ClosedRange<UInt64> {
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
