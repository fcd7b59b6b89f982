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
    isAnIssue("1 instead of 2") { expect(1, equals: 2) }
    isAnIssue(#""a\n" instead of "b": why"#) { expect("a\n", equals: "b", "why") }
    isAnIssue(#"nil instead of Optional("b")"#) { expect(String?.none, equals: "b") }
  }

  @Test func anUnmetConditionIsAnIssueAndItsLineIsQuoted() {
    isAnIssue(#"not so: expect("abc".isEmpty, "why"): why"#) {
      expect("abc".isEmpty, "why")
    }
  }

  @Test func whatIsMetIsNoIssue() {
    expect("abc", equals: "abc")
    expect("".isEmpty)
  }
}
