import CredCore
import Testing

@Suite struct RequestMemoTests {
  private func remember(_ line: String, in memo: inout ParsedRequestCache) throws {
    let bytes = Array(line.utf8)
    memo.remember(try Request.parse(bytes), for: bytes.span)
  }

  private func recall(_ line: String, from memo: inout ParsedRequestCache) -> Request? {
    memo.request(for: Array(line.utf8).span)
  }

  @Test func remembersExactBytes() throws {
    var memo = ParsedRequestCache(seed: 1)
    #expect(recall("{}", from: &memo) == nil)
    try remember("{}", in: &memo)
    try remember(#"{"profile":"work"}"#, in: &memo)
    #expect(recall("{}", from: &memo) == Request(operation: .get(GetRequest())))
    #expect(
      recall(#"{"profile":"work"}"#, from: &memo)
        == Request(operation: .get(GetRequest(profile: "work"))))
    #expect(recall("{ }", from: &memo) == nil)
    #expect(recall(#"{"profile":"worl"}"#, from: &memo) == nil)
  }

  @Test func passesOverSecretsIDsAndLongLines() throws {
    let login = #"{"op":"login","username":"u","password":"p"}"#
    let long = "{}" + String(repeating: " ", count: 255)
    var memo = ParsedRequestCache(seed: 1)
    for line in [login, #"{"id":1}"#, long] {
      try remember(line, in: &memo)
      #expect(recall(line, from: &memo) == nil)
    }
    let longest = "{}" + String(repeating: " ", count: 254)
    try remember(longest, in: &memo)
    #expect(recall(longest, from: &memo) != nil)
  }

  @Test func aLineInUseOutlivesAStranger() throws {
    var memo = ParsedRequestCache(seed: 7)
    try remember("{}", in: &memo)
    _ = recall("{}", from: &memo)
    let rival = try lineThatTakesThePlace(of: "{}", seed: 7)
    try remember(rival, in: &memo)
    #expect(recall("{}", from: &memo) != nil)
    try remember(rival, in: &memo)
    try remember(rival, in: &memo)
    #expect(recall("{}", from: &memo) == nil)
    #expect(recall(rival, from: &memo) != nil)
  }

  @Test func placesDependOnTheSeed() throws {
    let rival = try lineThatTakesThePlace(of: "{}", seed: 7)
    var evictions = 0
    for seed in 100..<110 {
      var memo = ParsedRequestCache(seed: UInt64(seed))
      try remember("{}", in: &memo)
      try remember(rival, in: &memo)
      if recall("{}", from: &memo) == nil { evictions += 1 }
    }
    #expect(evictions < 3)
  }

  @Test func spreadsSimilarLines() throws {
    var memo = ParsedRequestCache(seed: 3)
    let lines = (0..<300).map { "{\"profile\":\"p\($0)\"}" }
    for line in lines { try remember(line, in: &memo) }
    let kept = lines.count { recall($0, from: &memo) != nil }
    // 300 into 1024 places leave about 260 alone.
    #expect(kept > 230)
  }

  private func lineThatTakesThePlace(of line: String, seed: UInt64) throws -> String {
    for number in 0..<100_000 {
      let candidate = "{\"profile\":\"rival\(number)\"}"
      var memo = ParsedRequestCache(seed: seed)
      try remember(line, in: &memo)
      try remember(candidate, in: &memo)
      if recall(line, from: &memo) == nil { return candidate }
    }
    Issue.record("no line shares a place")
    return line
  }
}
