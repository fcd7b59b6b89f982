import Foundation
package import Testing

// `#expect` as functions. The compiler checks the macro's argument, expands the macro and checks the
// result again, which was more than a third of the time that the tests took to build: docs/decisions.md.
// `#require` and `#expect(throws:)` stay as they are.

/// Expects a condition, and quotes its line otherwise. Where two values are compared say
/// `expect(_:equals:)`, which shows them.
package func expect(
  _ isMet: Bool, _ comment: @autoclosure () -> Comment? = nil, file: String = #filePath,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  guard !isMet else { return }
  record("not so: \(line(sourceLocation.line, of: file))", comment(), sourceLocation)
}

/// Expects a value, and shows what it is otherwise.
package func expect<Value: Equatable>(
  _ actual: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  guard actual != expected else { return }
  record("\(shown(actual)) instead of \(shown(expected))", comment(), sourceLocation)
}

private func record(_ what: String, _ comment: Comment?, _ location: SourceLocation) {
  let comment = comment.map { "\(what): \($0.rawValue)" } ?? what
  Issue.record(Comment(rawValue: comment), sourceLocation: location)
}

/// As it stands in code: a text in quotes, with its line feeds visible.
private func shown<Value>(_ value: Value) -> String { String(reflecting: value) }

private func line(_ number: Int, of file: String) -> String {
  let lines = (try? String(contentsOfFile: file, encoding: .utf8))?
    .split(separator: "\n", omittingEmptySubsequences: false)
  guard let lines, lines.indices.contains(number - 1) else { return "line \(number)" }
  return lines[number - 1].trimmingCharacters(in: .whitespaces)
}
