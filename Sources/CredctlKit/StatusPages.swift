public import CredCore

/// Joins the pages of a `status` into one reply.
public struct StatusPages: Sendable {
  /// Sessions of a page. Such a reply has less than 1 MiB and less than 10,000 values.
  public static let size = 250
  /// More pages than all sessions of a daemon can fill.
  private static let most = Limits.Session.most / size + 1

  private var last: JSONValue?
  private var sessions: [JSONValue] = []
  private var count = 0
  /// Where the next page begins; nil after the last one.
  public private(set) var next: String?

  public init() {}

  /// Whether there was only one page.
  public var isOnePage: Bool { count == 1 && next == nil }

  /// Adds a page.
  ///
  /// - Parameter reply: a reply that was checked against ``ReplyShape/status``.
  /// - Throws: if there are too many pages.
  public mutating func add(_ reply: JSONValue) throws(Failure) {
    count += 1
    last = reply
    var added = 0
    if case .array(let sessions) = reply["Sessions"] {
      added = sessions.count
      self.sessions += sessions
    }
    let before = next
    next = reply["Next"]?.text
    guard next == nil || (added > 0 && next != before && count < Self.most) else {
      throw Failure(.unavailable, "the daemon's pages of sessions have no end; report this")
    }
  }

  /// One reply with the sessions of all pages, and the other members of the last page.
  public var whole: JSONValue {
    guard case .object(let members) = last else { return .object([]) }
    return .object(
      members.filter { $0.key != "Next" }.map { member in
        guard member.key == "Sessions" else { return member }
        return JSONMember(key: member.key, keyOffset: member.keyOffset, value: .array(sessions))
      })
  }

  /// ``whole`` as a line.
  public var line: [UInt8] {
    var writer = JSONWriter(capacity: 512 * sessions.count + 512)
    Self.append(whole, to: &writer)
    writer.endLine()
    return writer.bytes
  }

  private static func append(_ value: JSONValue, to writer: inout JSONWriter) {
    switch value {
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(member.key)
        append(member.value, to: &writer)
      }
      writer.endObject()
    case .array(let elements):
      writer.beginArray()
      for element in elements { append(element, to: &writer) }
      writer.endArray()
    case .string(let text): writer.string(text)
    case .number(let digits): writer.raw(Array(digits.utf8))
    case .bool(let flag): writer.bool(flag)
    case .null: writer.raw(Array("null".utf8))
    }
  }
}
