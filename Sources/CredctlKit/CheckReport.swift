public import CredCore

/// The results of `check`.
public struct CheckReport: Sendable {
  /// The step where the user has to act: sign in, or ask for access.
  private static let userStep = "session"

  private let reply: JSONValue
  private let steps: [JSONValue]

  /// - Parameters:
  ///   - reply: a reply that was checked against ``ReplyShape/check``.
  ///   - own: a step that credctl itself made.
  public init(_ reply: JSONValue, own: JSONValue? = nil) {
    var steps: [JSONValue] = []
    if case .array(let given) = reply["Steps"] { steps = given }
    self.reply = reply
    self.steps = (own.map { [$0] } ?? []) + steps
  }

  /// Whether credd reported a step of that name.
  public func has(_ name: String) -> Bool { steps.contains { $0["Name"]?.text == name } }

  private var failedSteps: [String] {
    steps.filter { !Self.isOK($0) }.map { Self.name($0) }
  }

  /// What a command ends with; nil if every step is right. A `get` would end with the same status where
  /// its user has to act.
  public var failure: Failure? {
    let failed = failedSteps
    guard !failed.isEmpty else { return nil }
    return Failure(
      failed.contains(Self.userStep) ? .notPermitted : .unavailable,
      "what failed: \(failed.joined(separator: ", "))")
  }

  /// The reply with all steps, as a line of JSON.
  public var line: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if case .object(let members) = reply {
      for member in members {
        writer.key(member.key)
        switch member.key {
        case "Steps": writer.value(.array(steps))
        case "Ok": writer.bool(failedSteps.isEmpty)
        default: writer.value(member.value)
        }
      }
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// A short table of the steps, then what is said of them, each text once and whole: wrapped at the
  /// terminal's width, or on one line when output is not a terminal.
  public func rendered(on display: TextTable.Display) -> String {
    guard !steps.isEmpty else { return "" }
    var table = TextTable(header: ["STEP", "RESULT", "TIME"], shrinking: [(0, 8)])
    for step in steps {
      let isOK = Self.isOK(step)
      table.append([
        TextTable.Cell(step["Name"]?.text),
        TextTable.Cell(isOK ? "ok" : "FAILED", colour: isOK ? .green : .red),
        TextTable.Cell(step["Seconds"]?.double.map { "\($0) s" }),
      ])
    }
    return table.rendered(on: display) + "\n"
      + reasons.map { paragraph($0, on: display) }.joined()
  }

  /// What is said of one step, or of several.
  private struct Reason {
    var steps: [String]
    let isOK: Bool
    let text: String
  }

  private var reasons: [Reason] {
    var reasons: [Reason] = []
    for step in steps {
      guard let text = step["Detail"]?.text, !text.isEmpty else { continue }
      let isOK = Self.isOK(step)
      if let index = reasons.firstIndex(where: { $0.text == text && $0.isOK == isOK }) {
        reasons[index].steps.append(Self.name(step))
      } else {
        reasons.append(Reason(steps: [Self.name(step)], isOK: isOK, text: text))
      }
    }
    return reasons
  }

  private func paragraph(_ reason: Reason, on display: TextTable.Display) -> String {
    let text = PlainText.wholeLine(
      "\(reason.steps.joined(separator: ", ")): \(reason.text)")
    return WrappedText.lines(text, width: display.width).map { line in
      (display.hasColour && !reason.isOK ? TextTable.Colour.red.painted(line) : line) + "\n"
    }.joined()
  }

  private static func isOK(_ step: JSONValue) -> Bool { step["Ok"] == .bool(true) }

  private static func name(_ step: JSONValue) -> String {
    PlainText.oneLine(step["Name"]?.text ?? "-")
  }
}
