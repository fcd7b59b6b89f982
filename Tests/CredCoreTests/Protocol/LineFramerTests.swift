import CredCore
import TestSupport
import Testing

struct LineFramerTests {
  /// All lines in the chunks, and whether one was over the limit.
  private func frame(
    _ chunks: [String], with framer: inout LineFramer
  ) -> (lines: [String], tooLarge: Bool) {
    var lines: [String] = []
    for chunk in chunks {
      let bytes = Array(chunk.utf8)
      var position = 0
      chunk: while true {
        switch framer.next(in: bytes.span, from: &position) {
        case .line(let range): lines.append(String(decoding: bytes[range], as: UTF8.self))
        case .joined(let line): lines.append(String(decoding: line, as: UTF8.self))
        case .needsMore: break chunk
        case .tooLarge: return (lines, true)
        }
      }
      expect(position, equals: bytes.count)
    }
    return (lines, false)
  }

  @Test func cutsAChunkWithoutCopying() {
    var framer = LineFramer()
    let bytes = Array("ab\n\ncd\ne".utf8)
    var position = 0
    expect(framer.next(in: bytes.span, from: &position), equals: .line(0..<2))
    expect(framer.next(in: bytes.span, from: &position), equals: .line(4..<6))
    expect(!framer.holdsPartialLine)
    expect(framer.next(in: bytes.span, from: &position), equals: .needsMore)
    expect(framer.holdsPartialLine)
    expect(position, equals: 8)
  }

  @Test func joinsALineAcrossChunks() {
    var framer = LineFramer()
    expect(
      frame(["a", "b", "\nc\n\r", "\n", "d", "\n"], with: &framer).lines, equals: ["ab", "c", "d"])
    expect(!framer.holdsPartialLine)
  }

  @Test func everySplitGivesTheSameLines() {
    let text = "{}\n\r\n \t\n{\"op\":\"ping\"}\r\n\n{\"id\":1}\n"
    for first in 0...text.utf8.count {
      for second in first...text.utf8.count {
        let bytes = Array(text.utf8)
        let chunks = [bytes[..<first], bytes[first..<second], bytes[second...]].map {
          String(decoding: $0, as: UTF8.self)
        }
        var framer = LineFramer()
        expect(
          frame(chunks, with: &framer).lines, equals: ["{}", "{\"op\":\"ping\"}\r", "{\"id\":1}"])
      }
    }
  }

  /// The line is longer than the pieces in which the framer keeps it.
  @Test(arguments: [1, 7, 4096, 16 << 10, 40_000, 200_000])
  func aLongLineIsJoinedFromAllItsPieces(_ size: Int) {
    let line = (0..<100_000).map { UInt8(ascii: "a") + UInt8($0 % 23) }
    var framer = LineFramer()
    var lines: [[UInt8]] = []
    var rest = (line + [UInt8(ascii: "\n")] + line + [UInt8(ascii: "\n")])[...]
    while !rest.isEmpty {
      let chunk = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      var position = 0
      while position < chunk.count {
        switch framer.next(in: chunk.span, from: &position) {
        case .line(let range): lines.append(Array(chunk[range]))
        case .joined(let joined): lines.append(joined)
        case .needsMore: expect(framer.partialBytes <= line.count)
        case .tooLarge: Issue.record("it is within the limit")
        }
      }
    }
    expect(lines, equals: [line, line])
    expect(framer.partialBytes, equals: 0)
  }

  @Test func aLastLineNeedsNoNewline() {
    var framer = LineFramer()
    expect(frame(["{}"], with: &framer).lines.isEmpty)
    expect(framer.finish(), equals: Array("{}".utf8))
    expect(framer.finish() == nil)
    expect(frame([" \r"], with: &framer).lines.isEmpty)
    expect(framer.finish() == nil)
  }

  @Test func theLimitIsExact() {
    var framer = LineFramer(limit: 4)
    expect(frame(["1234\n12", "34\n"], with: &framer) == (["1234", "1234"], false))
    expect(frame(["1\n12345\n1\n"], with: &framer) == (["1"], true))
    expect(frame(["1\n"], with: &framer) == ([], true))
    expect(!framer.holdsPartialLine)
    expect(framer.finish() == nil)
  }

  @Test func anEndlessLineIsRefusedBeforeItsEnd() {
    var framer = LineFramer(limit: 4)
    expect(frame(["12", "34"], with: &framer) == ([], false))
    expect(frame(["5"], with: &framer) == ([], true))
    var blank = LineFramer(limit: 4)
    expect(frame(["    ", " "], with: &blank) == ([], true))
  }

  @Test func thousandsOfTinyChunksTakeLinearTime() {
    var framer = LineFramer()
    let piece = Array("x".utf8)
    for _ in 0..<Limits.Line.bytes {
      var position = 0
      guard framer.next(in: piece.span, from: &position) == .needsMore else {
        Issue.record("refused below the limit")
        return
      }
    }
    expect(framer.finish()?.count, equals: Limits.Line.bytes)
  }
}
