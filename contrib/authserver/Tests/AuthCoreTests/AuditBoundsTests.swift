import AuthCore
import Testing

struct AuditBoundsTests {
  private let start = Timestamp(milliseconds: 1_700_000_000_000)

  private func note(_ user: String = "bob", after time: Interval = .seconds(0)) -> AuditNote {
    AuditNote("refused", ["host": "web1", "user": user], at: start + time)
  }

  @Test func manyEntriesOfOneSourceAreFew() {
    var bounds = AuditBounds(sources: 100)
    let written = (0..<100_000).flatMap { index in
      bounds.admit(note(after: Interval(milliseconds: Int64(index))), from: "web1")
    }
    #expect(written == (0..<10).map { note(after: Interval(milliseconds: Int64($0))) })
    #expect(bounds.end(at: start + .minutes(9)).isEmpty)
    let rest = bounds.end(at: start + .minutes(10))
    #expect(
      rest.map(\.members) == [
        ["host": "web1", "user": "bob", "count": "99990", "since": start.iso8601]
      ])
    #expect(rest.map(\.event) == ["refused"])
    #expect(rest.map(\.time) == [start + Interval(milliseconds: 99_999)])
    #expect(bounds.end(at: start + .minutes(60)).isEmpty)
  }

  @Test func theNumbersEntrySaysWhatIsTrueOfAll() {
    var bounds = AuditBounds(sources: 100)
    for user in 0..<20 { _ = bounds.admit(note("u\(user)"), from: "web1") }
    let members = bounds.end(at: start, all: true).map(\.members)
    #expect(members == [["host": "web1", "count": "10", "since": start.iso8601]])
  }

  @Test func theNextWindowWritesTheNumberFirst() {
    var bounds = AuditBounds(sources: 100)
    for _ in 0..<12 { _ = bounds.admit(note(), from: "web1") }
    let due = bounds.admit(note(after: .minutes(10)), from: "web1")
    #expect(due.map { $0.members["count"] } == ["2", nil])
    // A clock that was set back begins another one too.
    for _ in 0..<12 { _ = bounds.admit(note(after: .minutes(10)), from: "web1") }
    #expect(bounds.admit(note(), from: "web1").map { $0.members["count"] } == ["3", nil])
  }

  @Test func othersAreWrittenMeanwhile() {
    var bounds = AuditBounds(sources: 100)
    for _ in 0..<100 { _ = bounds.admit(note(), from: "web1") }
    #expect(bounds.admit(note(), from: "web2").count == 1)
    let login = AuditNote("loginFailed", [:], at: start)
    #expect(bounds.admit(login, from: "web1") == [login])
  }

  /// Whoever has many addresses and one host's token fills no place of another host's.
  @Test func amongTooManySourcesEachHostHasItsPlace() {
    var bounds = AuditBounds(sources: 100)
    for index in 0..<200 { _ = bounds.admit(note(), from: "web1 \(index)", of: "web1") }
    let more = (0..<100).flatMap { bounds.admit(note(), from: "web2 \($0)", of: "web2") }
    #expect(more.count == Limits.auditEach)
    #expect(bounds.admit(note(), from: "web3 0", of: "web3") == [note()])
  }

  @Test func afterAFailureTheFirstOnesAreWrittenAgain() {
    var bounds = AuditBounds(sources: 100)
    for _ in 0..<20 { _ = bounds.admit(note(), from: "web1") }
    bounds.startAgain()
    let again = (0..<20).flatMap { _ in bounds.admit(note(), from: "web1") }
    #expect(again.count == Limits.auditEach)
    #expect(bounds.end(at: start, all: true).map { $0.members["count"] } == ["20"])
  }

  @Test func tooManySourcesAreOne() {
    var bounds = AuditBounds(sources: 100)
    for index in 0..<100 { _ = bounds.admit(note(), from: "\(index)") }
    let more = (0..<100).flatMap { bounds.admit(note(), from: "more\($0)") }
    #expect(more.count == Limits.auditEach)
    // What says who got something is never left out.
    #expect(
      (0..<100).allSatisfy { bounds.admit(note(), from: "most\($0)", isWhole: true).count == 1 })
    // Their time is over.
    #expect(bounds.admit(note(after: .minutes(10)), from: "new").count == 2)
  }
}
