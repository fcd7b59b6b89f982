import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

struct SampleServerTests {
  static let timestamp = "2015-09-22T18:08:03Z"
  var test: TestSandbox
  let salted = SampleProtocol.salted("secret123", user: "carol", host: "localhost")

  init() throws {
    test = try TestSandbox()
  }

  private mutating func get(_ target: String) -> HTTPReply {
    let host = [HTTPField("Host", "LOCALHOST:8080")]
    return test.answer(HTTPRequest(method: "GET", target: "/sample/" + target, headers: host)).reply
  }

  private mutating func register() -> Int {
    get("registeruser?username=carol&password=secret123").status
  }

  private mutating func login(uid: String = "u1", at time: String = timestamp) -> HTTPReply {
    let signature = SampleProtocol.signature(of: time, key: salted)
    return get("login?username=carol&uid=\(uid)&timestamp=\(time)&signature=\(signature)")
  }

  /// The key of a new sign-in.
  private mutating func key() throws -> String {
    let text = try decrypted(login(), key: salted)
    return String(text.dropFirst("{\t\"key\": \"".count).dropLast(2))
  }

  private mutating func token(_ key: String, user: String = "carol") -> HTTPReply {
    let message = Self.timestamp + TestSandbox.provider + user
    let signature = SampleProtocol.signature(of: message, key: key)
    return get(
      "gettoken?uid=u1&timestamp=\(Self.timestamp)&signature=\(signature)"
        + "&provider1=\(TestSandbox.provider)&token1=\(user)")
  }

  private func decrypted(_ reply: HTTPReply, key: String) throws -> String {
    let sealed = try #require(Data(base64Encoded: String(reply.text.dropLast())))
    let plain = try Cryptography.decryptAES128CBC(
      Array(sealed.dropFirst(16)), key: SampleProtocol.bytes(ofHexadecimal: key.prefix(32)),
      iv: Array(sealed.prefix(16)))
    return String(decoding: plain, as: UTF8.self)
  }

  @Test mutating func handsOutATokenWithItsComma() throws {
    expect(register(), equals: 200)
    let key = try key()
    expect(key.utf8.count, equals: 32)
    let reply = token(key)
    expect(reply.status, equals: 200)
    expect(reply.header("Content-Type"), equals: "text/plain; charset=UTF-8")
    expect(reply.text.hasSuffix("\n"))
    let text = try decrypted(reply, key: key)
    expect(text.hasPrefix("{\"identityPoolId\": \"\(TestSandbox.pool)\", \"identityId\": \""))
    expect(text.hasSuffix("\",}"))
  }

  @Test mutating func aDuplicateIsNotAcceptable() {
    expect(register(), equals: 200)
    expect(register(), equals: 406)
  }

  @Test(arguments: [
    "registeruser?username=carol", "registeruser?username=ab&password=secret123",
    "registeruser?username=carol&password=short", "registeruser?username=a-b-c&password=secret123",
    "login?username=carol", "gettoken?uid=u1",
  ])
  mutating func badParameters(_ target: String) {
    expect(get(target).status, equals: 400)
  }

  @Test mutating func refusesOldTimestampsAndWrongSignatures() {
    _ = register()
    expect(login(at: "2015-09-22T17:53:03Z").status, equals: 200)
    expect(login(at: "2015-09-22T17:53:02Z").status, equals: 401)
    expect(login(at: "yesterday").status, equals: 401)
    let time = Self.timestamp
    let reply = get("login?username=carol&uid=u1&timestamp=\(time)&signature=00")
    expect(reply.status, equals: 401)
    expect(reply.text, equals: "Error matching signature\n")
  }

  @Test mutating func aNewLoginVoidsTheOldKey() throws {
    _ = register()
    let old = try key()
    let new = try key()
    expect(token(old).status, equals: 401)
    expect(token(new).status, equals: 200)
  }

  @Test mutating func theLoginMustBeTheDevicesUser() throws {
    _ = register()
    expect(token(try key(), user: "alice").status, equals: 401)
  }

  @Test mutating func takesAForm() {
    let body = Array("username=carol&password=secret123".utf8)
    let request = HTTPRequest(method: "POST", target: "/sample/registeruser", body: body)
    expect(test.answer(request).reply.status, equals: 200)
  }
}
