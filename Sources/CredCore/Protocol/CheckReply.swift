/// A step of a `check`: its name, its time and its result.
public struct CheckStep: Sendable, Equatable {
  public let name: String
  public let isOK: Bool
  public let duration: Duration
  /// One line, without a secret.
  public let detail: String

  public init(_ name: String, isOK: Bool, duration: Duration = .zero, detail: String) {
    self.name = name
    self.isOK = isOK
    self.duration = duration
    self.detail = detail
  }
}

extension RenderedReply {
  /// The reply to `check`.
  public static func check(_ steps: [CheckStep]) -> RenderedReply {
    RenderedReply(capacity: 256 * (1 + steps.count)) { writer in
      writer.key("Ok")
      writer.bool(steps.allSatisfy(\.isOK))
      writer.key("Steps")
      writer.beginArray()
      for step in steps {
        writer.beginObject()
        writer.field("Name", step.name)
        writer.key("Ok")
        writer.bool(step.isOK)
        writer.key("Seconds")
        writer.raw(Array(seconds(step.duration).utf8))
        writer.field("Detail", step.detail)
        writer.endObject()
      }
      writer.endArray()
    }
  }

  /// Seconds, rounded to milliseconds.
  private static func seconds(_ duration: Duration) -> String {
    let milliseconds = max(0, duration.wholeNanoseconds / 1_000_000)
    let fraction = String(1000 + milliseconds % 1000).dropFirst()
    return "\(milliseconds / 1000).\(fraction)"
  }
}
