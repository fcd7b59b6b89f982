extension Dice {
  private static let statuses = [
    400, 401, 403, 404, 407, 409, 429, 429, 500, 503, 511, 301, 204, 0,
  ]

  /// An answer: status, headers, body.
  mutating func answer(_ body: String, status: Int? = nil) -> String {
    let number = status ?? (once(in: 12) ? pick([201, 299, 300] + Self.statuses) : 200)
    var head = "\(number)\n"
    if once(in: 3) {
      head +=
        "\(pick(["Date", "date"])): \(once(in: 6) ? httpDate() : "Tue, 14 Nov 2023 22:13:20 GMT")\n"
    }
    if once(in: 4) { head += "\(pick(["Retry-After", "RETRY-AFTER"])): \(time())\n" }
    if once(in: 12) { head += "Retry-After: 7\n" }
    if number != 200, once(in: 3) { head += "x-amzn-ErrorType: \(errorName()):http://h/\n" }
    return head + "\n" + body
  }

  private static let errors = [
    "NotAuthorizedException", "TooManyRequestsException", "ResourceNotFoundException",
    "InternalErrorException", "InvalidParameterException", "ResourceConflictException",
    "InvalidIdentityPoolConfigurationException", "ExternalServiceException", "AccessDenied",
    "ExpiredTokenException", "IDPCommunicationError", "Throttling", "Nobody.Knows_1", "no name", "",
  ]

  private static let sayings = [
    "Token expired", "Invalid login token", "Access to Identity 'x' is forbidden.", "", "a\nb",
    "Rate exceeded", "Logins don't match", "AKIDEXAMPLE0123456789ABCDEFGHIJKLMN is bad",
    "eyJhbGciOiJub25lIn0.eyJ", "pool us-east-1:11111111-2222-3333-4444-555555555555 is not there",
  ]

  private mutating func errorName() -> String {
    (once(in: 4) ? "com.amazonaws.cognito#" : "") + pick(Self.errors)
  }

  mutating func refusal() -> String {
    let members: [(name: String, value: JSONText)] = [
      (pick(["__type", "error", "Error"]), .string(errorName())),
      (pick(["message", "Message", "error_description"]), .string(pick(Self.sayings))),
    ]
    return answer(written(disturbed(members, once: 5)), status: pick(Self.statuses))
  }

  private static let pages = [
    "<!DOCTYPE html><p>", "\n <HTML>", "<head>x", "<htm", "Not found\nsecond",
  ]

  mutating func page() -> String {
    answer(pick(Self.pages), status: pick([200, 200, 302, 404, 502]))
  }

  private mutating func accessKeyID() -> String {
    once(in: 12)
      ? pick([
        "ASIA-EXAMPLE-0001", String(repeating: "A", count: pick([15, 16, 128, 129])), "",
      ])
      : "ASIA" + text("ABCXYZ019_", 12...20)
  }

  private mutating func secretKey() -> String {
    once(in: 24) ? pick(["", "a b", "é", "\u{7F}", "x"]) : text("abcXYZ019+/=", 1...40)
  }

  private mutating func expiration() -> JSONText {
    once(in: 4)
      ? .raw(
        pick(["1700000000", "1700172800", "1700172801", "1.7000036E9", "1700003600.5", "0", "1e10"])
      )
      : .raw("\(number(in: 1_700_000_001...1_700_050_000))")
  }
}

extension Dice {
  mutating func cognitoReply() -> String {
    if once(in: 4) { return once(in: 4) ? page() : refusal() }
    var members: [(name: String, value: JSONText)] = [("IdentityId", .string(identityID()))]
    switch number(3) {
    case 0: break
    case 1: members.append(("Token", .string(token())))
    default:
      members.append(
        (
          "Credentials",
          disturbed(
            [
              ("AccessKeyId", .string(accessKeyID())), ("SecretKey", .string(secretKey())),
              ("SessionToken", .string(secretKey())), ("Expiration", expiration()),
            ], once: 5)
        ))
    }
    return answer(written(disturbed(members, once: 5)))
  }

  mutating func backendReply() -> String {
    if once(in: 4) { return once(in: 4) ? page() : refusal() }
    return answer(once(in: 3) ? sessionBody() : tokenBody())
  }

  private mutating func sessionBody() -> String {
    var members: [(name: String, value: JSONText)] = [
      (pick(["SessionToken", "sessionToken"]), .string(secretKey()))
    ]
    if once(in: 2) {
      let user: JSONText = once(in: 5) ? .raw("null") : .string(accountName())
      members.append((pick(["DeveloperUserIdentifier", "developerUserIdentifier"]), user))
    }
    return written(disturbed(members))
  }

  private mutating func tokenBody() -> String {
    var members: [(name: String, value: JSONText)] = [
      (pick(["IdentityId", "identityId"]), .string(identityID())),
      (pick(["Token", "token"]), .string(token())),
    ]
    if once(in: 3) {
      let pool: JSONText = once(in: 4) ? anyJSON(levels: 1) : .string(poolID())
      members.append((pick(["IdentityPoolId", "identityPoolId"]), pool))
    }
    return written(disturbed(members))
  }

  /// An exit status and an output of a command, or a file of keys.
  mutating func commandOutput() -> String {
    let status = once(in: 8) ? pick(["64", "67", "69", "75", "77", "78", "126", "1", "-1"]) : "0"
    let body =
      switch number(3) {
      case 0: keyFile()
      case 1: processOutput()
      default: tokenBody()
      }
    return status + "\n" + body
  }

  private mutating func processOutput() -> String {
    var members: [(name: String, value: JSONText)] = [
      ("Version", .raw(once(in: 10) ? pick(["2", "0", "\"1\""]) : "1")),
      ("AccessKeyId", .string(accessKeyID())), ("SecretAccessKey", .string(secretKey())),
    ]
    if once(in: 2) { members.append(("SessionToken", .string(secretKey()))) }
    if once(in: 2) {
      let time: JSONText =
        once(in: 5) ? .raw(pick(["1700000000", "[]", "null", "{}"])) : .string(isoTime())
      members.append(("Expiration", time))
    }
    return written(disturbed(members, once: 5))
  }

  private mutating func keyFile() -> String {
    var text = ""
    for _ in 0...number(3) {
      text += pick(["[default]", "[other]", " [default] ", "[default", "[Default]"]) + newLine()
      for _ in 0..<number(4) {
        text +=
          pick(["", "", " ", "#"])
          + pick(["aws_access_key_id", "AWS_SECRET_ACCESS_KEY", "aws_session_token", "x", ""])
          + pick(["=", " = ", "\t=", ":", " =="]) + secretKey() + newLine()
      }
      if once(in: 2) {
        text += "aws_access_key_id=\(accessKeyID())\naws_secret_access_key = \(secretKey())\n"
      }
    }
    return text
  }

  private mutating func newLine() -> String { pick(["\n", "\n", "\r\n", "\r", " \n"]) }

  /// A reply of the sample server, which is not encrypted here.
  mutating func sampleReply() -> String {
    if once(in: 5) { return once(in: 4) ? page() : refusal() }
    var plain =
      once(in: 3)
      ? written(
        disturbed([
          ("key", .string(text("0123456789abcdefABCDEF", once(in: 5) ? 30...33 : 32...32)))
        ]))
      : tokenBody()
    if once(in: 2), plain.last == "}" { plain = plain.dropLast() + ",}" }
    var bytes = bytes(16) + Array(plain.utf8)
    if !once(in: 12) { bytes += [UInt8](repeating: 0x20, count: (16 - bytes.count % 16) % 16) }
    let text = SecondBase64.encode(bytes, last: "+/")
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return answer(text + (once(in: 12) ? "" : padding) + pick(["", "\n", "\r\n", " "]))
  }
}

// MARK: STS

extension Dice {
  mutating func stsReply() -> String {
    if once(in: 5) { return once(in: 4) ? page() : stsRefusal() }
    var leaves = [
      leaf("AccessKeyId", accessKeyID()), leaf("SecretAccessKey", secretKey()),
      leaf("SessionToken", secretKey()), leaf("Expiration", stsTime()),
    ].shuffled(using: &self)
    if once(in: 8) { leaves.append(leaf("Expiration", stsTime())) }
    if once(in: 12) { leaves.removeLast() }
    let account = pick(["123456789012", "12345678901", "1234567890123", ""])
    let user =
      once(in: 2)
      ? element("AssumedRoleUser", leaf("Arn", "arn:aws:sts::\(account):assumed-role/r/s")) : ""
    let result = element("Credentials", leaves.joined(separator: space())) + user
    let body = element(
      "AssumeRoleWithWebIdentityResponse",
      space() + element("AssumeRoleWithWebIdentityResult", result)
        + (once(in: 6) ? oddElement() : ""))
    let declaration =
      once(in: 2)
      ? pick(["<?xml version=\"1.0\"?>", "<?xml ?> \n", once(in: 6) ? "<?xml" : ""]) : ""
    return answer(declaration + body + space())
  }

  private mutating func stsTime() -> String {
    once(in: 4) ? isoTime() : "2023-11-15T0\(number(10)):00:00Z"
  }

  private mutating func stsRefusal() -> String {
    let error = leaf("Code", errorName()) + leaf("Message", pick(Self.sayings))
    return answer(
      element("ErrorResponse", element("Error", error)), status: pick(Self.statuses))
  }

  private mutating func space() -> String { once(in: 4) ? pick([" ", "\n  ", "\r\n", "\t"]) : "" }

  private mutating func element(_ name: String, _ content: String) -> String {
    let attributes =
      once(in: 80)
      ? pick([" a", " a=b", " =", "/"])
      : once(in: 6) ? pick([" xmlns=\"https://h/>\"", " a='\"' b=\"<\"", " "]) : ""
    if content.isEmpty, once(in: 2) { return "<\(name)\(attributes)/>" }
    let end = once(in: 150) ? "x" : name
    return "<\(name)\(attributes)>\(content)</\(end)\(pick(["", "", " "]))>"
  }

  /// A text, some of its characters written as references.
  private mutating func leaf(_ name: String, _ text: String) -> String {
    var content = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": content += "&amp;"
      case "<": content += "&lt;"
      case _ where once(in: 40):
        content += pick(["&#\(scalar.value);", "&#x\(String(scalar.value, radix: 16));"])
      default: content.unicodeScalars.append(scalar)
      }
    }
    if once(in: 80) {
      content += pick([
        "&quot;", "&apos;", "&#0;", "&#xD800;", "&nope;", "&", "&#;", "&#+5;", "<!-- -->",
        "<![CDATA[x]]>", "<b/>", "&#x110000;", "\u{0}", "é",
      ])
    }
    return element(name, content)
  }

  private mutating func oddElement() -> String {
    pick([
      "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>", "<a><b></a></b>",
      "<!DOCTYPE x>",
      "<1/>", "< a/>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&#1114112;</a>", "<a>&nope;</a>",
      "<a b=\"1\"c='2'/>",
      String(repeating: "<a>", count: 16)
        + String(repeating: "</a>", count: 16), String(repeating: "<a/>", count: 260), "<a", "</a>",
      "",
    ])
  }
}
