import Foundation

/// JSON as another program than credd reads it: by Foundation's parser.
enum JSON: Decodable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(_ text: String) throws {
    do {
      self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    } catch {
      throw NotJSON(text: text)
    }
  }

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    // Most values are texts. Each attempt that fails throws, and Swift Testing takes the stack of each
    // error that is thrown.
    if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if value.decodeNil() {
      self = .null
    } else if let object = try? value.decode([String: JSON].self) {
      self = .object(object)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else {
      self = .array(try value.decode([JSON].self))
    }
  }

  subscript(key: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  subscript(index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  var text: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  var number: Double? {
    guard case .number(let number) = self else { return nil }
    return number
  }

  var keys: Set<String> {
    guard case .object(let members) = self else { return [] }
    return Set(members.keys)
  }

  var count: Int? {
    guard case .array(let elements) = self else { return nil }
    return elements.count
  }

  /// The code of an error reply.
  var errorCode: String? { self["Error"]?["Code"]?.text }
  var errorMessage: String? { self["Error"]?["Message"]?.text }
}

struct NotJSON: Error, CustomStringConvertible {
  let text: String
  var description: String { "not JSON: \(text)" }
}

extension String {
  /// A time as replies give it: whole seconds and `Z`.
  var time: Date? {
    guard wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil else { return nil }
    return try? Date(self, strategy: .iso8601)
  }

  /// The same in seconds from now.
  var timeFromNow: TimeInterval? { time?.timeIntervalSinceNow }
}
