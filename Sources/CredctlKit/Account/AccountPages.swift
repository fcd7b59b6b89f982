public import CredCore

/// The replies to `account` with `devices` or `sessions`, which come in pages.
public struct AccountPages: Sendable {
  /// What is listed.
  public enum List: String, Sendable {
    case devices
    case sessions

    fileprivate var member: String {
      switch self {
      case .devices: "Devices"
      case .sessions: "Sessions"
      }
    }
  }

  /// The most pages. A user has tens of devices and sessions, so a pool with endless pages is faulty.
  private static let most = 100

  private let list: List
  private var elements: [JSONValue] = []
  private var last: [JSONMember] = []
  private var count = 0
  /// Where the next page begins; nil after the last one.
  public private(set) var next: String?

  public init(of list: List) { self.list = list }

  /// Adds a page.
  ///
  /// - Throws: if there are too many pages.
  public mutating func add(_ reply: JSONValue) throws(Failure) {
    if case .array(let elements) = reply[list.member] { self.elements += elements }
    if case .object(let members) = reply { last = members }
    count += 1
    let before = next
    next = reply["Next"]?.text
    guard next == nil || next != before && count < Self.most else {
      throw Failure(.unavailable, "the user pool's list of \(list.rawValue) has no end")
    }
  }

  /// Whether there was only one page.
  public var isOnePage: Bool { count == 1 && next == nil }

  /// One reply with what all pages list, and the other members of the last page, as a line of JSON.
  public var line: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for member in last where member.key != "Next" {
      writer.key(member.key)
      writer.value(member.key == list.member ? .array(elements) : member.value)
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// A table of everything that is listed.
  public func rendered(on display: TextTable.Display, now: WallTime) -> String {
    guard !elements.isEmpty else { return "no \(list.rawValue)\n" }
    switch list {
    case .devices: return devices(now).rendered(on: display)
    case .sessions: return sessions(now).rendered(on: display)
    }
  }

  private func devices(_ now: WallTime) -> TextTable {
    var table = TextTable(
      header: ["DEVICE", "NAME", "CREATED", "LAST USED", "ADDRESS", "REMEMBERED", "THIS"],
      shrinking: [(1, 8)], optional: [4, 2, 1, 5])
    for device in elements {
      table.append([
        TextTable.Cell(device["Device"]?.text), TextTable.Cell(device["Name"]?.text),
        TextTable.Cell(Self.time(device["Created"], now)),
        TextTable.Cell(Self.time(device["LastUsed"], now)),
        TextTable.Cell(device["LastAddress"]?.text),
        TextTable.Cell(device["Remembered"]?.bool.map { $0 ? "yes" : "no" }),
        TextTable.Cell(device["This"]?.bool == true ? "yes" : nil),
      ])
    }
    return table
  }

  private func sessions(_ now: WallTime) -> TextTable {
    var table = TextTable(
      header: [
        "SESSION", "KIND", "DEVICE", "PLACE", "ADDRESS", "CREATED", "LAST USED", "CLIENT", "THIS",
      ], shrinking: [(2, 8), (3, 8)], optional: [7, 5, 4, 3, 2])
    for session in elements {
      table.append(
        ["Session", "Kind", "Device", "Place", "LastAddress"].map {
          TextTable.Cell(session[$0]?.text)
        }
          + ["Created", "LastUsed"].map { TextTable.Cell(Self.time(session[$0], now)) }
          + [
            TextTable.Cell(session["Client"]?.text),
            TextTable.Cell(session["This"]?.bool == true ? "yes" : nil),
          ])
    }
    return table
  }

  private static func time(_ value: JSONValue?, _ now: WallTime) -> String? {
    guard let text = value?.text, let time = WallTime(iso8601: text) else { return value?.text }
    return RelativeTime.phrase(min(0, (time.milliseconds - now.milliseconds) / 1000))
  }
}
