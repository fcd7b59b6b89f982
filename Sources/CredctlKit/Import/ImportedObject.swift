internal import CredCore

/// An object in an imported file. Every error names the key and its position.
struct ImportedObject {
  let members: [JSONMember]
  /// The object's key; empty for the whole file.
  let name: String
  /// The position of that key.
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

/// A string of an imported file, with its member.
struct ImportedText {
  let text: String
  let member: JSONMember

  func error(_ what: String) -> ImportError { ImportedObject.error(at: member, what) }
}

/// Checks the ids of pools, which go into a configuration.
enum MobileID {
  struct UserPool {
    let id: String
    /// The key of the pool in the logins map.
    let loginsKey: String
  }

  /// - Parameter region: the region beside the id in the file. The id itself has a region too.
  static func identityPool(
    _ id: ImportedText, region: ImportedText?
  ) throws(ImportError) -> String {
    guard let pool = try? IdentityPoolID(id.text) else {
      throw id.error("must be an identity pool's id, REGION:UUID")
    }
    try check(region, against: pool.region, "identity pool")
    return pool.description
  }

  /// Accepts `REGION_` with letters and digits, at most 55 characters (Cognito user pools API
  /// reference, UserPoolId).
  static func userPool(_ id: ImportedText, region: ImportedText?) throws(ImportError) -> UserPool {
    let parts = id.text.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, id.text.utf8.count <= 55, let own = parts.first,
      let endpoint = try? AWSHost(.cognitoIdentity, region: own), !parts[1].isEmpty,
      parts[1].utf8.allSatisfy(\.isLetterOrDigit)
    else { throw id.error("must be a user pool's id, such as us-east-1_aB1cD2eF3") }
    try check(region, against: endpoint.region, "user pool")
    let suffix = AWSPartition(region: own).dnsSuffix
    return UserPool(id: id.text, loginsKey: "cognito-idp.\(own).\(suffix)/\(id.text)")
  }

  private static func check(
    _ region: ImportedText?, against own: String, _ what: String
  ) throws(ImportError) {
    guard let region, region.text != own else { return }
    throw region.error(
      "is \(region.text.quoted), but the \(what)'s id says \(own.quoted)")
  }
}

/// An error in an imported file, with its position.
public struct ImportError: Error, Equatable, Sendable {
  /// Bytes from the start of the file, counted from 0.
  public var offset: Int
  /// Lower-case, without a full stop. It shows no value, because these files may have client
  /// secrets.
  public var message: String
}

extension Failure {
  /// `FILE:LINE:COLUMN: message`.
  ///
  /// - Parameter bytes: the content of the file, to find the line and column.
  init(_ error: ImportError, in bytes: [UInt8], file: String) {
    let before = bytes.prefix(error.offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // Continuation bytes of UTF-8 take no column.
    let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
    self.init(.dataError, "\(file):\(line):\(column): \(error.message)")
  }
}

/// The bounds of an imported file.
public enum ImportLimits {
  /// The most bytes. An `amplify_outputs.json` with the model of a large API has several 100,000.
  public static let fileBytes = 4 << 20
  /// The most identity pools in one file. An app has one, rarely two.
  static let pools = 100
  static let json = JSONLimits(depth: 64, values: 200_000)
}
