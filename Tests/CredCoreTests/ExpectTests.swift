import TestSupport
import Testing

/// What all other tests rest on: an expectation that is not met is an issue, and says what was there.
struct ExpectTests {
  private func isAnIssue(_ text: String, _ expectation: () -> Void) {
    withKnownIssue {
      expectation()
    } matching: { issue in
      issue.comments.map(\.rawValue) == [text]
    }
  }

  @Test func anotherValueIsAnIssueAndIsShown() {
    isAnIssue("1 instead of 2: expect(1, equals: 2)") {
      expect(1, equals: 2)
    }
    isAnIssue(#""a\n" instead of "b": expect("a\n", equals: "b", "why"): why"#) {
      expect("a\n", equals: "b", "why")
    }
    isAnIssue(#"nil instead of Optional("b"): expect(String?.none, equals: "b")"#) {
      expect(String?.none, equals: "b")
    }
  }

  @Test func anUnmetConditionIsAnIssueAndIsQuoted() {
    isAnIssue(#"not so: expect("abc".isEmpty, "why"): why"#) {
      expect("abc".isEmpty, "why")
    }
    isAnIssue("not so: expect( [1, 2, 3, 4, 5, 6, 7, 8, 9].map { $0 * 2 }.contains { $0 > 20 })") {
      expect(
        [1, 2, 3, 4, 5, 6, 7, 8, 9].map { $0 * 2 }.contains { $0 > 20 })
    }
  }

  @Test func anIssueIsAtItsExpectationsPlace() {
    let here = #_sourceLocation
    withKnownIssue {
      expect(1, equals: 2)
    } matching: { issue in
      issue.sourceLocation?.line == here.line + 2
        && issue.sourceLocation?.fileName == here.fileName
    }
  }

  @Test func anExpectationOfAHelperIsQuotedAtItsCallersPlace() {
    func isEmpty(_ text: String, _ location: SourceLocation = #_sourceLocation) {
      expect(text.isEmpty, sourceLocation: location)
    }
    let here = #_sourceLocation
    withKnownIssue {
      isEmpty("abc")
    } matching: { issue in
      issue.sourceLocation?.line == here.line + 2
        && issue.comments == ["not so: expect(text.isEmpty, sourceLocation: location)"]
    }
  }

  @Test func whatIsMetIsNoIssue() {
    expect("abc", equals: "abc")
    expect("".isEmpty)
  }
}
