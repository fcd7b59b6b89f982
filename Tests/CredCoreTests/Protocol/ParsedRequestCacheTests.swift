import CredCore
import TestSupport
import Testing

struct ParsedRequestCacheTests {
  private func remember(_ line: String, in cache: inout ParsedRequestCache) throws {
    let bytes = Array(line.utf8)
    cache.remember(try Request.parse(bytes), for: bytes.span)
  }

  private func recall(_ line: String, from cache: inout ParsedRequestCache) -> Request? {
    cache.request(for: Array(line.utf8).span)
  }

  @Test func remembersExactBytes() throws {
    var cache = ParsedRequestCache(seed: 1)
    expect(recall("{}", from: &cache) == nil)
    try remember("{}", in: &cache)
    try remember(#"{"profile":"work"}"#, in: &cache)
    expect(recall("{}", from: &cache), equals: Request(operation: .get(GetRequest())))
    expect(
      recall(#"{"profile":"work"}"#, from: &cache),
      equals: Request(operation: .get(GetRequest(profile: "work"))))
    expect(recall("{ }", from: &cache) == nil)
    expect(recall(#"{"profile":"worl"}"#, from: &cache) == nil)
  }

  @Test func doesNotCacheSecretsIDsAndLongLines() throws {
    let login = #"{"op":"login","username":"u","password":"p"}"#
    let long = "{}" + String(repeating: " ", count: 255)
    var cache = ParsedRequestCache(seed: 1)
    for line in [login, #"{"id":1}"#, long] {
      try remember(line, in: &cache)
      expect(recall(line, from: &cache) == nil)
    }
    let longest = "{}" + String(repeating: " ", count: 254)
    try remember(longest, in: &cache)
    expect(recall(longest, from: &cache) != nil)
  }

  @Test func aUsedLineKeepsItsPlaceOnce() throws {
    var cache = ParsedRequestCache(seed: 7)
    try remember("{}", in: &cache)
    _ = recall("{}", from: &cache)
    let rival = try lineThatTakesThePlace(of: "{}", seed: 7)
    try remember(rival, in: &cache)
    expect(recall("{}", from: &cache) != nil)
    try remember(rival, in: &cache)
    try remember(rival, in: &cache)
    expect(recall("{}", from: &cache) == nil)
    expect(recall(rival, from: &cache) != nil)
  }

  @Test func placesDependOnTheSeed() throws {
    let rival = try lineThatTakesThePlace(of: "{}", seed: 7)
    var evictions = 0
    for seed in 100..<110 {
      var cache = ParsedRequestCache(seed: UInt64(seed))
      try remember("{}", in: &cache)
      try remember(rival, in: &cache)
      if recall("{}", from: &cache) == nil { evictions += 1 }
    }
    expect(evictions < 3)
  }

  @Test func spreadsSimilarLines() throws {
    var cache = ParsedRequestCache(seed: 3)
    let lines = (0..<300).map { "{\"profile\":\"p\($0)\"}" }
    for line in lines { try remember(line, in: &cache) }
    let kept = lines.count { recall($0, from: &cache) != nil }
    // About 260 of 300 lines have one of the 1024 places to themselves.
    expect(kept > 230)
  }

  private func lineThatTakesThePlace(of line: String, seed: UInt64) throws -> String {
    for number in 0..<100_000 {
      let candidate = "{\"profile\":\"rival\(number)\"}"
      var cache = ParsedRequestCache(seed: seed)
      try remember(line, in: &cache)
      try remember(candidate, in: &cache)
      if recall(line, from: &cache) == nil { return candidate }
    }
    Issue.record("no line shares a place")
    return line
  }
}
