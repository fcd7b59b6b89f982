import AuthCore

/// The parameters of a query or a form.
public struct FormValues: Sendable, Equatable {
  private let values: [String: String]

  /// Nil where one is given twice, or is not percent-encoded UTF-8.
  public init?(_ texts: [String]) {
    var values: [String: String] = [:]
    for text in texts {
      for pair in text.split(separator: "&") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts[0].percentDecoded(isForm: true),
          let value = (parts.count > 1 ? parts[1] : "").percentDecoded(isForm: true),
          values[name] == nil
        else { return nil }
        values[name] = value
      }
    }
    self.values = values
  }

  public subscript(name: String) -> String? { values[name] }

  public var names: [String] { Array(values.keys) }
}
