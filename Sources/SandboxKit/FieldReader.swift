/// Reads a JSON object field by field; errors name the field.
struct FieldReader {
  private let members: [String: JSON]
  /// The object's path, such as `Pools[0]`; empty at the top.
  private let path: String
  private var known: Set<String> = []

  init(_ json: JSON?, at path: String = "") throws(ServiceError) {
    guard let members = json?.members else {
      throw FieldReader.fault(path.isEmpty ? "body" : path, "must be a JSON object")
    }
    self.members = members
    self.path = path
  }

  init(bodyOf request: HTTPRequest) throws(ServiceError) {
    try self.init(request.body.isEmpty ? .object([:]) : JSON(parsing: request.body))
  }

  mutating func optionalText(_ name: String) throws(ServiceError) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text, !text.isEmpty else {
      throw fault(name, "must be a non-empty string")
    }
    return text
  }

  mutating func text(_ name: String) throws(ServiceError) -> String {
    guard let text = try optionalText(name) else { throw fault(name, "is required") }
    return text
  }

  mutating func bool(_ name: String) throws(ServiceError) -> Bool? {
    guard let value = value(name) else { return nil }
    guard let bool = value.bool else { throw fault(name, "must be true or false") }
    return bool
  }

  mutating func integer(
    _ name: String, in range: ClosedRange<Int>
  ) throws(ServiceError) -> Int? {
    guard let value = value(name) else { return nil }
    guard let number = value.integer, range.contains(number) else {
      throw fault(name, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  mutating func number(
    _ name: String, in range: ClosedRange<Double>
  ) throws(ServiceError) -> Double? {
    guard let value = value(name) else { return nil }
    guard let number = value.number, range.contains(number) else {
      throw fault(name, "must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A string, or a number as text: Retry-After is either.
  mutating func textOrInteger(_ name: String) throws(ServiceError) -> String? {
    guard let value = value(name) else { return nil }
    if let number = value.integer { return String(number) }
    guard let text = value.text else { throw fault(name, "must be a string or an integer") }
    return text
  }

  mutating func texts(_ name: String) throws(ServiceError) -> [String]? {
    guard let value = value(name) else { return nil }
    guard let elements = value.elements else { throw fault(name, "must be a list of strings") }
    var texts: [String] = []
    for element in elements {
      guard let text = element.text else { throw fault(name, "must be a list of strings") }
      texts.append(text)
    }
    return texts
  }

  /// An object whose values are strings.
  mutating func map(_ name: String) throws(ServiceError) -> [String: String]? {
    guard let value = value(name) else { return nil }
    guard let members = value.members else { throw fault(name, "must be an object of strings") }
    var map: [String: String] = [:]
    for (key, value) in members {
      guard let text = value.text else { throw fault("\(name).\(key)", "must be a string") }
      map[key] = text
    }
    return map
  }

  /// A member of any type.
  mutating func json(_ name: String) -> JSON? { value(name) }

  mutating func object(_ name: String) throws(ServiceError) -> FieldReader? {
    guard let value = value(name) else { return nil }
    return try FieldReader(value, at: place(name))
  }

  /// The objects of a list, each with its place.
  mutating func objects(_ name: String) throws(ServiceError) -> [FieldReader]? {
    guard let value = value(name) else { return nil }
    guard let elements = value.elements else { throw fault(name, "must be a list of objects") }
    var readers: [FieldReader] = []
    for (index, element) in elements.enumerated() {
      readers.append(try FieldReader(element, at: place(name) + "[\(index)]"))
    }
    return readers
  }

  /// Refuses unknown fields: a misspelt field must not pass silently.
  func finish() throws(ServiceError) {
    if let unknown = members.keys.filter({ !known.contains($0) }).min() {
      throw fault(unknown, "is not a known field")
    }
  }

  func fault(_ name: String, _ message: String) -> ServiceError {
    FieldReader.fault(place(name), message)
  }

  private mutating func value(_ name: String) -> JSON? {
    known.insert(name)
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  private func place(_ name: String) -> String { path.isEmpty ? name : path + "." + name }

  private static func fault(_ place: String, _ message: String) -> ServiceError {
    ServiceError("InvalidRequest", "\(place) \(message)")
  }
}
