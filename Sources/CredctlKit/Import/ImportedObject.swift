internal import CredCore

/// An object of a file to be imported. Every error names the key and its place.
struct ImportedObject {
  let members: [JSONMember]
  /// Its key; empty for the whole file.
  let name: String
  /// Where that key stands.
  let offset: Int

  /// - Parameter bytes: the whole file.
  init(file bytes: [UInt8]) throws(ImportError) {
    let value: JSONValue
    do {
      value = try JSONValue.parse(bytes, limits: ImportLimits.json)
    } catch {
      throw ImportError(offset: error.offset, message: "not valid JSON: \(error.message)")
    }
    guard case .object(let members) = value else {
      throw ImportError(offset: 0, message: "the file must hold a JSON object")
    }
    self.members = members
    name = ""
    offset = 0
  }

  init(_ member: JSONMember) throws(ImportError) {
    guard case .object(let members) = member.value else {
      throw Self.error(at: member, "must be an object")
    }
    self.members = members
    name = member.key
    offset = member.keyOffset
  }

  func member(_ key: String) -> JSONMember? { members.first { $0.key == key } }

  func object(_ key: String) throws(ImportError) -> ImportedObject? {
    guard let member = member(key) else { return nil }
    return try ImportedObject(member)
  }

  func text(_ key: String) throws(ImportError) -> ImportedText? {
    guard let member = member(key) else { return nil }
    guard let text = member.value.text else { throw Self.error(at: member, "must be a string") }
    return ImportedText(text: text, member: member)
  }

  func required(_ key: String) throws(ImportError) -> ImportedText {
    guard let text = try text(key) else {
      throw ImportError(offset: offset, message: "\(name.quoted) lacks \"\(key)\"")
    }
    return text
  }

  func flag(_ key: String) throws(ImportError) -> Bool? {
    guard let member = member(key) else { return nil }
    guard let flag = member.value.bool else {
      throw Self.error(at: member, "must be true or false")
    }
    return flag
  }

  static func error(at member: JSONMember, _ what: String) -> ImportError {
    ImportError(offset: member.keyOffset, message: "\(member.key.quoted) \(what)")
  }
}

/// A string of a file to be imported, with the member it is the value of.
struct ImportedText {
  let text: String
  let member: JSONMember

  func error(_ what: String) -> ImportError { ImportedObject.error(at: member, what) }
}
