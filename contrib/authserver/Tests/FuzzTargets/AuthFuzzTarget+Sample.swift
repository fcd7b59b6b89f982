import AuthCore
import COpenSSL
import CredCore
import FuzzTargets

/// As a client has it.
private struct Opening: BlockCipher {
  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard key.count == 16, iv.count == 16, let context = unsafe EVP_CIPHER_CTX_new() else {
      return nil
    }
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var plain = [UInt8](repeating: 0, count: ciphertext.count + 16)
    var (count, rest): (Int32, Int32) = (0, 0)
    guard unsafe EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), nil, key, iv) == 1,
      unsafe EVP_DecryptUpdate(context, &plain, &count, ciphertext, Int32(ciphertext.count)) == 1
    else { return nil }
    var last = [UInt8](repeating: 0, count: 32)
    guard unsafe EVP_DecryptFinal_ex(context, &last, &rest) == 1 else { return nil }
    return Array(plain.prefix(Int(count)) + last.prefix(Int(rest)))
  }
}

extension AuthFuzzTarget {
  /// Lines: a key, a user, a device, a pool, an identity and a token. What the server seals, credd opens.
  func judgeSample(_ bytes: [UInt8]) -> Verdict {
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", maxSplits: 5, omittingEmptySubsequences: false
    ).map(String.init)
    guard lines.count == 6 else { return .refused }
    let (key, user, device) = (lines[0], lines[1], lines[2])
    let isKey = key.wholeMatch(of: /[0-9A-Fa-f]{32}/) != nil
    return .all([
      .check(
        SampleProtocol.isUsername(user) == (user.wholeMatch(of: /[A-Za-z0-9_.@]{3,128}/) != nil),
        "a user name or none"),
      .check(
        SampleProtocol.isDevice(device) == (device.wholeMatch(of: /[A-Za-z0-9_.:-]{1,128}/) != nil),
        "a device or none"),
      .check(
        (SampleProtocol.encrypt("x", hexKey: key, iv: Self.iv) != nil) == isKey, "a key or none"),
      isKey ? judgeSealed(key, user, Array(lines[3...])) : .refused,
    ])
  }

  private static let iv = Array(UInt8(0)..<16)

  private func judgeSealed(_ key: String, _ user: String, _ texts: [String]) -> Verdict {
    let (pool, identity, token) = (texts[0], texts[1], texts[2])
    guard let server = try? SampleServer(backend: "s", url: "https://h/"),
      let session = SampleSession(packed: Secret("\(String(repeating: "0a", count: 16)):\(key)")),
      let pool = try? IdentityPoolID(pool), CognitoSyntax.isID(identity),
      token.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil,
      let sealed = SampleProtocol.encrypt(
        SampleProtocol.tokenReply(
          pool: pool.description, identityID: identity, token: token), hexKey: key, iv: Self.iv)
    else { return .refused }
    let query = TokenQuery(
      pool: pool, developerProvider: "login.example.app", userIdentifier: user)
    let reply = HTTPReply(status: 200, body: Secret(sealed))
    let read = try? server.reply(reply, to: query, session: session, cipher: Opening())
    guard let read else { return .refused }
    return .all([
      .check(read.token.token.bytes.elementsEqual(token.utf8), "another token"),
      .check(read.identity.description == identity, "another identity"), .accepted,
    ])
  }
}

extension Dice {
  mutating func sampleTexts() -> String {
    let key = once(in: 12) ? text("0123456789abcdefg", 0...40) : text("0123456789abcdef", 32...32)
    return [
      key, pick(["alice", "al", "a@b.c", "é", "a b", "\0"]), pick(["d-1:x", "", "d 1", "é"]),
      "us-east-1:" + text("0123456789abcdef-", 1...36),
      "us-east-1:" + text("0123456789abcdef-", 1...36),
      text("abcXYZ019.-_", 1...40),
    ].joined(separator: "\n")
  }
}
