import Foundation
package import Testing

// `#expect` as functions. The compiler checks the macro's argument, expands the macro and checks the
// result again: docs/internals/decisions.md has figures. `#require` and `#expect(throws:)` stay as they are.
//
// A helper that expects for its caller passes the caller's `sourceLocation`. The quoted source is
// still the helper's own expectation, so that several of them can be distinguished. The place is a
// path and a line, because `#_sourceLocation` is also a macro, which would be expanded in each
// call.

/// Expects a condition. To compare two values, use `expect(_:equals:)`, which shows them.
package func expect(
  _ isMet: Bool, _ comment: @autoclosure () -> Comment? = nil, file: StaticString = #filePath,
  line: Int = #line, sourceLocation: SourceLocation? = nil
) {
  guard !isMet else { return }
  record("not so", "\(file)", line, comment(), sourceLocation)
}

/// Expects a value, and shows the actual value if it differs.
package func expect<Value: Equatable>(
  _ actual: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
  file: StaticString = #filePath, line: Int = #line, sourceLocation: SourceLocation? = nil
) {
  guard actual != expected else { return }
  // In the form of code: a text in quotes, with visible line feeds.
  let values = "\(String(reflecting: actual)) instead of \(String(reflecting: expected))"
  record(values, "\(file)", line, comment(), sourceLocation)
}

private func record(
  _ what: String, _ file: String, _ line: Int, _ comment: Comment?, _ location: SourceLocation?
) {
  let parts = [what, source(at: line, of: file)] + (comment.map { [$0.rawValue] } ?? [])
  Issue.record(
    Comment(rawValue: parts.joined(separator: ": ")),
    sourceLocation: location ?? place(file, line))
}

/// Swift Testing shows the file's name, the line and the column. The folder stands for the module.
private func place(_ file: String, _ line: Int) -> SourceLocation {
  let name = file.split(separator: "/").suffix(2).joined(separator: "/")
  return SourceLocation(fileID: name, filePath: file, line: line, column: 1)
}

/// The expectation in its file: the line, and a few lines below it that are indented further. A
/// text of many lines is omitted.
private func source(at number: Int, of file: String) -> String {
  let lines = (try? String(contentsOfFile: file, encoding: .utf8))?
    .split(separator: "\n", omittingEmptySubsequences: false)
  guard let lines, lines.indices.contains(number - 1) else { return "\(file):\(number)" }
  let first = lines[number - 1]
  let below = lines[number...].prefix(4).prefix { indentation($0) > indentation(first) }
  let all = [first] + below
  let last = all.firstIndex { $0.hasSuffix("\"\"\"") } ?? all.count - 1
  return all[...last].map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
}

private func indentation(_ line: Substring) -> Int { line.prefix { $0 == " " }.count }
