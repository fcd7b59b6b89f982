public import CredCore

/// The answers of a `respond`: texts by their names, and attributes for a new password.
public struct Answers: Sendable, Equatable {
  public private(set) var texts: [(name: String, value: Secret)] = []
  public private(set) var attributes: [(name: String, value: Secret)] = []

  public init() {}

  public mutating func add(_ name: String, _ value: Secret, isAttribute: Bool = false) {
    if isAttribute { attributes.append((name, value)) } else { texts.append((name, value)) }
  }

  /// Whether a confirmation is a yes.
  public var consents: Bool {
    texts.contains { $0.name == "confirm" && $0.value == Secret("true") }
  }

  public static func == (one: Answers, other: Answers) -> Bool {
    one.texts.elementsEqual(other.texts, by: ==)
      && one.attributes.elementsEqual(other.attributes, by: ==)
  }

  /// Reads an object of names and texts; its member `attributes` is an object of the same form.
  public init(json bytes: [UInt8]) throws(Failure) {
    let value: JSONValue
    do {
      value = try JSONValue.parse(foreign: Secret(bytes))
    } catch {
      throw Failure(
        .dataError, "the answers are not JSON (byte \(error.offset): \(error.message))")
    }
    guard case .object(let members) = value else {
      throw Failure(.dataError, "the answers must be an object of names and texts")
    }
    for member in members {
      if member.key == "attributes", case .object(let attributes) = member.value {
        for attribute in attributes { try add(attribute, isAttribute: true) }
      } else {
        try add(member, isAttribute: false)
      }
    }
  }

  private mutating func add(_ member: JSONMember, isAttribute: Bool) throws(Failure) {
    let word = member.key == "confirm" ? member.value.bool.map { Secret("\($0)") } : nil
    guard let text = word ?? member.value.secret else {
      throw Failure(.dataError, "the answer \(member.key.quoted) must be a string")
    }
    add(member.key, text, isAttribute: isAttribute)
  }
}

/// One `NAME=VALUE` of `respond`.
///
/// Only answers that are no secrets may be on the command line itself, because every user of the
/// host could read them there.
public struct AnswerSource: Equatable, Sendable {
  public enum Origin: Equatable, Sendable {
    case value(String)
    case file(String)
    case standardInput
  }

  public let name: String
  public let isAttribute: Bool
  public let origin: Origin

  /// The answers that are no secrets.
  private static let plain = ["choice", "name", "confirm"]
  private static let attributePrefix = "attributes."

  /// - Throws: a ``Failure`` with ``Sysexit/usage``. It does not repeat the text after `=`.
  public init(_ text: String) throws(Failure) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw Failure(.usage, "an answer is NAME=@FILE, NAME=- or, for a choice, choice=NAME")
    }
    let full = String(text[..<equals])
    isAttribute = full.hasPrefix(Self.attributePrefix)
    name = isAttribute ? String(full.dropFirst(Self.attributePrefix.count)) : full
    let source = text[text.index(after: equals)...]
    if !isAttribute, Self.plain.contains(name) {
      origin = .value(String(source))
    } else if source == "-" {
      origin = .standardInput
    } else if source.hasPrefix("@"), source.count > 1 {
      origin = .file(String(source.dropFirst()))
    } else {
      throw Failure(
        .usage, "'\(full)=' takes @FILE or -, not the answer itself: others would see it")
    }
  }

  /// Reads several answers. Each name may occur once, and at most one source may be standard input.
  public static func list(_ texts: [String]) throws(Failure) -> [AnswerSource] {
    var sources: [AnswerSource] = []
    for text in texts {
      let source = try AnswerSource(text)
      guard
        !sources.contains(where: { $0.name == source.name && $0.isAttribute == source.isAttribute })
      else { throw Failure(.usage, "the answer '\(source.name)' is given twice") }
      sources.append(source)
    }
    guard sources.count(where: { $0.origin == .standardInput }) <= 1 else {
      throw Failure(.usage, "standard input holds one answer: use files, or '--answers-stdin'")
    }
    return sources
  }
}

extension RequestLine {
  /// The answers of a `respond`.
  public mutating func add(_ answers: Answers) {
    writer.key("answers")
    writer.beginObject()
    for (name, value) in answers.texts {
      writer.key(name)
      writer.string(value)
    }
    if !answers.attributes.isEmpty {
      writer.key("attributes")
      writer.beginObject()
      for (name, value) in answers.attributes {
        writer.key(name)
        writer.string(value)
      }
      writer.endObject()
    }
    writer.endObject()
  }
}

extension Secret {
  /// The text after the first `?` of an address; if there is only a query, the query unchanged.
  public var queryOfAddress: Secret {
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return self }
    return Secret(Array(bytes[(mark + 1)...].prefix { $0 != UInt8(ascii: "#") }))
  }
}
