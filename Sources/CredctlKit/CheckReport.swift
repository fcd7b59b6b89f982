public import CredCore

/// The results of `check`, for people.
public enum CheckReport {
  /// The names of the steps that failed.
  public static func failedSteps(_ reply: JSONValue) -> [String] {
    guard case .array(let steps) = reply["Steps"] else { return [] }
    return steps.filter { $0["Ok"] != .bool(true) }.map {
      PlainText.oneLine($0["Name"]?.text ?? "")
    }
  }

  public static func rendered(_ reply: JSONValue, on display: TextTable.Display) -> String {
    var table = TextTable(header: ["STEP", "RESULT", "TIME", "DETAIL"], shrinking: [(3, 20)])
    guard case .array(let steps) = reply["Steps"] else { return "" }
    for step in steps {
      let isOK = step["Ok"] == .bool(true)
      let seconds = step["Seconds"]?.double.map { "\($0) s" }
      table.append([
        TextTable.Cell(step["Name"]?.text),
        TextTable.Cell(isOK ? "ok" : "FAILED", colour: isOK ? .green : .red),
        TextTable.Cell(seconds), TextTable.Cell(step["Detail"]?.text),
      ])
    }
    return table.rendered(on: display)
  }
}
