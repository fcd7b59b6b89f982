import CredCore

/// A JSON object as credd reads it. A key that stands twice, `{…,}`, `01`, control characters and
/// deep nesting are errors, because two readers may read each of them in two ways.
public struct JSONObject: Sendable {
  /// What is wrong, without a value of it.
  public struct Invalid: Error, Equatable {
    public let reason: String
  }

  private let value: JSONValue

  public init(_ bytes: [UInt8]) throws(Invalid) {
    do throws(JSONError) {
      value = try JSONValue.parse(bytes)
    } catch {
      throw Invalid(reason: "the body is not JSON: \(error.message), at byte \(error.offset)")
    }
    guard case .object = value else { throw Invalid(reason: "the body is not an object") }
  }

  public func text(_ name: String) throws(Invalid) -> String {
    guard let member = value[name] else { throw Invalid(reason: "\(name) is missing") }
    guard member != .null else { throw Invalid(reason: "\(name) must not be null") }
    return try Self.text(member, name)
  }

  /// Nil where it is missing, or null.
  public func optionalText(_ name: String) throws(Invalid) -> String? {
    guard let member = value[name], member != .null else { return nil }
    return try Self.text(member, name)
  }

  private static func text(_ value: JSONValue, _ name: String) throws(Invalid) -> String {
    guard let text = value.text else { throw Invalid(reason: "\(name) is of the wrong type") }
    return text
  }

  public func integer(_ name: String) throws(Invalid) -> Int64 {
    guard let number = value[name]?.integer else {
      throw Invalid(reason: "\(name) is missing, or no whole number")
    }
    return number
  }

  /// An object with texts as members; empty if it is missing or null.
  public func members(_ name: String) throws(Invalid) -> [String: String] {
    guard let member = value[name], member != .null else { return [:] }
    return try Self.members(member, name)
  }

  /// All of its own members, where they are texts.
  public func members() throws(Invalid) -> [String: String] { try Self.members(value, "it") }

  private static func members(
    _ value: JSONValue, _ name: String
  ) throws(Invalid) -> [String: String] {
    guard case .object(let members) = value else {
      throw Invalid(reason: "\(name) is of the wrong type")
    }
    var texts: [String: String] = [:]
    for member in members {
      texts[member.key] = try text(member.value, "\(name).\(member.key)")
    }
    return texts
  }

  /// An object of texts, in the order of their keys.
  public static func text(_ members: [String: String]) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      writer.key(key)
      writer.string(value)
    }
    writer.endObject()
    return writer.bytes
  }
}
