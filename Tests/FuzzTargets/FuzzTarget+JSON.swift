import CredCore

extension FuzzTarget {
  func judgeJSON(_ bytes: [UInt8]) -> Verdict {
    .all([
      judge(bytes, limits: .standard), judge(bytes, limits: Limits.Line.json),
      judge(bytes, limits: JSONLimits(allowsTrailingComma: true)),
    ])
  }

  private func judge(_ bytes: [UInt8], limits: JSONLimits) -> Verdict {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes, limits: limits)
    } catch {
      guard (0...bytes.count).contains(error.offset) else {
        return .fault("an error out of the text")
      }
      guard case .value = SecondJSONReading(bytes, limits: limits) else { return .refused }
      return .fault("refused though valid: \(error.message)")
    }
    switch SecondJSONReading(bytes, limits: limits) {
    case .refused: return .fault("accepted though invalid")
    case .value(let second) where !second.isSame(as: value): return .fault("read as another value")
    case .value, .outOfRange: return judgeWriting(value, limits)
    }
  }

  /// What is written is read as the same value, here and by Foundation.
  private func judgeWriting(_ value: JSONValue, _ limits: JSONLimits) -> Verdict {
    var writer = JSONWriter()
    writer.write(value)
    guard let again = try? JSONValue.parse(writer.bytes, limits: limits),
      again.withoutOffsets == value.withoutOffsets
    else { return .fault("written and read as another value") }
    guard case .value(let second) = SecondJSONReading(writer.bytes, limits: limits) else {
      return .accepted
    }
    return second.isSame(as: value) ? .accepted : .fault("written as another value")
  }
}

extension JSONValue {
  /// The same value with every key at the start of the text.
  fileprivate var withoutOffsets: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.withoutOffsets))
    case .object(let members):
      .object(
        members.map {
          JSONMember(key: $0.key, keyOffset: 0, value: $0.value.withoutOffsets)
        })
    default: self
    }
  }
}

extension JSONWriter {
  fileprivate mutating func write(_ value: JSONValue) {
    switch value {
    case .null: raw(Array("null".utf8))
    case .bool(let flag): bool(flag)
    case .number(let digits): raw(Array(digits.utf8))
    case .string(let secret): string(secret)
    case .array(let elements):
      beginArray()
      for element in elements { write(element) }
      endArray()
    case .object(let members):
      beginObject()
      for member in members {
        key(member.key)
        write(member.value)
      }
      endObject()
    }
  }
}
