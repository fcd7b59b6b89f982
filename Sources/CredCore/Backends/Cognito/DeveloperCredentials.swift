/// The organisation's AWS credentials, with which a `cognito` backend signs.
public struct DeveloperCredentials: Sendable, Equatable {
  public let signer: SigV4
  /// Nil for long-lived keys.
  public let expiration: WallTime?

  public init(signer: SigV4, expiration: WallTime? = nil) {
    self.signer = signer
    self.expiration = expiration
  }

  /// Reads the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
  public init(environment: (String) -> String?) throws(InvalidInput) {
    guard let id = environment("AWS_ACCESS_KEY_ID"), !id.isEmpty,
      let key = environment("AWS_SECRET_ACCESS_KEY"), !key.isEmpty
    else {
      throw InvalidInput(
        field: "developer credentials",
        reason: "are in neither credentials_file, credential_process nor the environment")
    }
    let token = environment("AWS_SESSION_TOKEN").flatMap { $0.isEmpty ? nil : Secret($0) }
    self.init(signer: SigV4(accessKeyID: id, secretAccessKey: Secret(key), sessionToken: token))
  }

  /// Reads a section of a file in the format of `~/.aws/credentials`.
  public init(file: Secret, section: String, path: String) throws(InvalidInput) {
    var values: [String: Secret] = [:]
    var isInside = false
    for line in file.bytes.split(whereSeparator: \.isLineBreak) {
      let text = line.trimmedOfBlanks
      if text.first == UInt8(ascii: "[") {
        isInside = Array(text) == Array("[\(section)]".utf8)
      } else if isInside, let equals = text.firstIndex(of: UInt8(ascii: "=")),
        text.first != UInt8(ascii: "#")
      {
        let key = String(decoding: text[..<equals].trimmedOfBlanks, as: UTF8.self).lowercased()
        values[key] = Secret(Array(text[(equals + 1)...].trimmedOfBlanks))
      }
    }
    guard let id = values["aws_access_key_id"]?.exposedText(), !id.isEmpty,
      let key = values["aws_secret_access_key"], !key.isEmpty
    else {
      throw InvalidInput(
        field: "credentials_file", reason: "\(path) has no keys in its section [\(section)]")
    }
    self.init(
      signer: SigV4(
        accessKeyID: id, secretAccessKey: key, sessionToken: values["aws_session_token"]))
  }

  /// Reads the output of a credential_process (AWS SDKs and Tools Reference Guide, "Process
  /// credential provider").
  public init(processOutput: Secret) throws(InvalidInput) {
    func printed(_ what: String) -> InvalidInput {
      InvalidInput(field: "credential_process", reason: "printed \(what)")
    }
    guard let object = try? JSONValue.parse(foreign: processOutput), case .object = object else {
      throw printed("no credentials: its output must be a JSON object")
    }
    guard object["Version"]?.integer == 1 else {
      let found = object["Version"].map(Self.kind(of:)) ?? "no Version"
      throw printed("\(found): it must have \"Version\": 1, as a number")
    }
    guard let id = object["AccessKeyId"]?.text, !id.isEmpty else {
      throw printed("no AccessKeyId")
    }
    guard let key = object["SecretAccessKey"]?.secret, !key.isEmpty else {
      throw printed("no SecretAccessKey")
    }
    var expiration: WallTime?
    if let value = object["Expiration"], value != .null {
      guard let time = value.text.flatMap({ WallTime(iso8601: $0) }) else {
        throw printed("an Expiration that is no time: it must be a text like 2030-01-02T03:04:05Z")
      }
      expiration = time
    }
    self.init(
      signer: SigV4(
        accessKeyID: id, secretAccessKey: key, sessionToken: object["SessionToken"]?.secret),
      expiration: expiration)
  }

  /// A wrong `Version`, without what is in it.
  private static func kind(of version: JSONValue) -> String {
    switch version {
    case .number: "another Version"
    case .string: "a Version that is a text"
    default: "a Version that is no number"
    }
  }
}
