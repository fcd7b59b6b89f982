import CredCore
import SeededRandom
import TestSupport
import Testing

/// Damaged lines give a request or an error, never a crash.
struct RequestMutationTests {
  private static let lines = [
    "{}",
    #"{"op":"get","profile":"work","min_ttl":900,"refresh":true,"wait":0.25,"id":7}"#,
    #"{"op":"token","profile":"work","min_ttl":1.5e1,"wait":300,"id":"a\u00e9\ud83d\ude00"}"#,
    #"{"op":"login","profile":"w","username":"zoë","password":"p\"w\n"}"#,
    #"{"op":"login","identity_id":"us-east-1:11111111-2222-3333-4444-555555555555","token":"e"}"#,
    #"{"op":"login","logins":{"www.amazon.com":"t1","accounts.google.com":"t2"}}"#,
    #"{"op":"clear","what":"identity"}"#,
    #"{"op":"status","all":true}"#,
    #"{"op":"logout","global":false}"#,
    #" { "op" : "watch" , "profile" : "p" } "#,
  ].map { Array($0.utf8) }

  private static let pieces =
    [
      "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u", "\\ud800", "\u{0}", "\u{1}", "null", "true",
      "-", "1e999", "0", "99999999999999999999", "\"op\"", "\"id\"", "\"logins\":", "{}", "é", "😀",
      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\u{202E}",
    ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x9F]]

  @Test(arguments: 0..<8)
  func damagedLinesGiveARequestOrAnError(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let rounds = TestRounds.of(1500)
    var (errors, remembered) = (0, 0)
    for _ in 0..<rounds {
      var line = Self.lines[Int.random(in: 0..<Self.lines.count, using: &random)]
      for _ in 0..<Int.random(in: 1...4, using: &random) { Self.damage(&line, &random) }
      do {
        let request = try Request.parse(line)
        if isRemembered(request, of: line) { remembered += 1 }
      } catch {
        errors += 1
        try checkReply(to: error, line: line)
      }
    }
    expect(errors > rounds * 7 / 15)
    // Few damaged lines are requests still.
    expect(remembered > 0 || TestRounds.isShort)
  }

  /// The reply is one line of JSON without control characters in its message.
  private func checkReply(to error: RequestError, line: [UInt8]) throws {
    var reply: [UInt8] = []
    RenderedReply.error(error.error).append(to: &reply, id: error.id)
    expect(reply.last, equals: UInt8(ascii: "\n"))
    let value = try JSONValue.parse(Array(reply.dropLast()))
    expect(value["Error"]?["Message"]?.text, equals: error.error.message)
    let hasControls = error.error.message.unicodeScalars.contains {
      $0.properties.generalCategory == .control || $0.properties.generalCategory == .format
    }
    expect(!hasControls && error.error.message.utf8.count < 1024)
  }

  /// Whether the cache of parsed requests takes the request: then it gives the same one back.
  private func isRemembered(_ request: Request, of line: [UInt8]) -> Bool {
    var cache = ParsedRequestCache(seed: 5)
    cache.remember(request, for: line.span)
    guard let remembered = cache.request(for: line.span) else { return false }
    expect(remembered == request && request.operation.isFreeOfSecrets)
    return true
  }

  private static func damage(_ line: inout [UInt8], _ random: inout SeededGenerator) {
    let place = Int.random(in: 0...line.count, using: &random)
    let end = min(line.count, place + Int.random(in: 1...12, using: &random))
    switch Int.random(in: 0..<6, using: &random) {
    case 0 where place < line.count: line[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1 where place < line.count: line[place] = UInt8.random(in: 0...255, using: &random)
    case 2: line.removeSubrange(place..<end)
    case 3: line.insert(contentsOf: Array(line[place..<end]), at: place)
    case 4: line.removeSubrange(place...)
    default:
      let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
      line.insert(contentsOf: piece, at: place)
    }
  }
}
