/// What ``JSONValue/parse(_:limits:)`` takes. The size of a text is its owner's limit.
public struct JSONLimits: Sendable, Equatable {
  /// How many arrays and objects may stand inside each other. The parser recurses this deep.
  public var depth: Int

  /// How many values there may be in all, each element and member counted. What half a megabyte of
  /// tiny ones costs to build (some 20 ms) is time that everybody else waits.
  public var values: Int

  /// Takes `[1,]` and `{"a":1,}`: the developer authentication sample server writes them.
  public var allowsTrailingComma: Bool

  public init(depth: Int = 32, values: Int = 10_000, allowsTrailingComma: Bool = false) {
    self.depth = depth
    self.values = values
    self.allowsTrailingComma = allowsTrailingComma
  }

  /// 32 levels, 10,000 values, no trailing commas: far more than any reply that credd reads.
  public static let standard = JSONLimits()
}
