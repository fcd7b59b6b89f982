import FoundationEssentials

@testable import SandboxKit

/// Credentials of the sandbox, as a client holds them.
struct HeldKey {
  let id: String
  let secret: String
  let token: String
}

extension TestSandbox {
  /// What Cognito gives alice, or a guest.
  mutating func key(isGuest: Bool = false) -> HeldKey {
    var reply: HTTPReply
    if isGuest {
      _ = send("POST", "/control/pool", ["Unauthenticated": true])
      let id = cognito("GetId", ["IdentityPoolId": .string(Self.pool)]).json?["IdentityId"]
      reply = cognito("GetCredentialsForIdentity", ["IdentityId": id ?? .null])
    } else {
      let (identity, token) = token()
      reply = credentials(identity, Self.cognito, token)
    }
    let members = reply.json?["Credentials"]
    return HeldKey(
      id: members?["AccessKeyId"]?.text ?? "", secret: members?["SecretKey"]?.text ?? "",
      token: members?["SessionToken"]?.text ?? "")
  }

  /// A call of STS with the signature of a key.
  mutating func sts(_ action: String, _ parameters: [String: String], by key: HeldKey) -> HTTPReply
  {
    let form = (["Action": action, "Version": "2011-06-15"].merging(parameters) { $1 })
      .map { $0.key + "=" + encoded($0.value) }.sorted().joined(separator: "&")
    return answer(
      signed("POST", "/", service: "sts", body: Array(form.utf8), by: key, at: now)
    ).reply
  }

  mutating func s3(
    _ method: String, _ target: String, _ content: String = "", by key: HeldKey
  ) -> HTTPReply {
    answer(signed(method, target, service: "s3", body: Array(content.utf8), by: key, at: now)).reply
  }

  /// Whether a key may do something.
  mutating func may(_ action: String, _ resource: String, by key: HeldKey) -> Bool? {
    let body: JSON = [
      "AccessKeyId": .string(key.id), "Action": .string(action), "Resource": .string(resource),
    ]
    return send("POST", "/control/may", body).json?["Allowed"]?.bool
  }
}

extension HTTPReply {
  /// The text of the first element of that name.
  func element(_ name: String) -> String? {
    guard let start = text.firstRange(of: "<\(name)>"),
      let end = text[start.upperBound...].firstRange(of: "</\(name)>")
    else { return nil }
    return String(text[start.upperBound..<end.lowerBound])
  }

  /// The credentials of a reply of STS.
  var key: HeldKey {
    HeldKey(
      id: element("AccessKeyId") ?? "", secret: element("SecretAccessKey") ?? "",
      token: element("SessionToken") ?? "")
  }

  /// `STATUS CODE` of an error in XML.
  var xmlError: String { "\(status) \(element("Code") ?? "-")" }
}

private func encoded(_ text: String) -> String {
  text.utf8.map { byte in
    InputRule.isWord(byte) || "-.~".utf8.contains(byte)
      ? String(Unicode.Scalar(byte))
      : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }.joined()
}

/// A request with Signature Version 4, made as the documents say and not as the sandbox checks it.
private func signed(
  _ method: String, _ target: String, service: String, body: [UInt8], by key: HeldKey, at now: Date
) -> HTTPRequest {
  let time = now.basicISO8601Text
  let hash = hexadecimal(Cryptography.sha256(body))
  var fields = [
    HTTPField("Host", "127.0.0.1:4599"), HTTPField("X-Amz-Date", time),
    HTTPField("X-Amz-Security-Token", key.token),
  ]
  if service == "s3" { fields.append(HTTPField("x-amz-content-sha256", hash)) }
  let sorted = fields.map { ($0.name.lowercased(), $0.value) }.sorted { $0.0 < $1.0 }
  let names = sorted.map(\.0).joined(separator: ";")
  let request = HTTPRequest(method: method, target: target)
  let query = request.query.split(separator: "&").sorted().joined(separator: "&")
  let canonical =
    "\(method)\n\(request.path)\n\(query)\n"
    + sorted.map { "\($0.0):\($0.1)\n" }.joined() + "\n\(names)\n\(hash)"
  let day = String(time.prefix(8))
  let scope = "\(day)/us-east-1/\(service)/aws4_request"
  let message =
    "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n"
    + hexadecimal(Cryptography.sha256(Array(canonical.utf8)))
  var secret = Array(("AWS4" + key.secret).utf8)
  for part in [day, "us-east-1", service, "aws4_request"] {
    secret = Cryptography.hmacSHA256(key: secret, message: Array(part.utf8))
  }
  let signature = hexadecimal(
    Cryptography.hmacSHA256(key: secret, message: Array(message.utf8)))
  fields.append(
    HTTPField(
      "Authorization",
      "AWS4-HMAC-SHA256 Credential=\(key.id)/\(scope), SignedHeaders=\(names), "
        + "Signature=\(signature)"))
  return HTTPRequest(method: method, target: target, headers: fields, body: body)
}
