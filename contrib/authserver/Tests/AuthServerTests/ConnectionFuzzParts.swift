import AuthCore
import Foundation
import NIOHTTP1
import SeededRandom
import Synchronization

@testable import AuthServer

/// What a client sends: requests, some of which are damaged, and what is none.
struct FuzzStream {
  var bytes: [UInt8] = []
  /// The statuses of all answers; nil where something is damaged, or there is too much at once.
  private(set) var expected: [Int]? = []

  init(_ dice: inout SeededGenerator) {
    let count = Int.random(in: 0..<20, using: &dice) == 0 ? 40 : Int.random(in: 0...8, using: &dice)
    var isOver = false
    for _ in 0..<count {
      // Many at once are none that ends the connection.
      let kinds = count > Limits.unansweredRequests ? 10 : 16
      let (text, status, isLast) = Self.request(Int.random(in: 0..<kinds, using: &dice), &dice)
      bytes += text
      if !isOver { expected?.append(status) }
      isOver = isOver || isLast
    }
    if count > Limits.unansweredRequests { expected = nil }
    guard Bool.random(using: &dice) else { return }
    expected = nil
    for _ in 0..<Int.random(in: 1...4, using: &dice) { damage(&dice) }
  }

  private static func request(
    _ kind: Int, _ dice: inout SeededGenerator
  ) -> ([UInt8], Int, Bool) {
    func made(_ text: String, _ status: Int = 200, isLast: Bool = false) -> ([UInt8], Int, Bool) {
      (Array(text.utf8), status, isLast)
    }
    let host = "Host: x\r\n"
    switch kind {
    case 0...2: return made("GET /a HTTP/1.1\r\n\(host)\r\n")
    case 3: return made("HEAD /a HTTP/1.1\r\n\(host)\r\n")
    case 4...6:
      let count = length(&dice)
      let path = Bool.random(using: &dice) ? "/body" : "/early"
      var request = Array("POST \(path) HTTP/1.1\r\n\(host)Content-Length: \(count)\r\n\r\n".utf8)
      request += Array(repeating: UInt8(ascii: "y"), count: count)
      return (request, 200, false)
    case 7...9:
      let path = Bool.random(using: &dice) ? "/body" : "/early"
      var text = "POST \(path) HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"
      for _ in 0..<Int.random(in: 0...3, using: &dice) {
        let count = Int.random(in: 1...99, using: &dice)
        text += String(count, radix: 16) + "\r\n" + String(repeating: "z", count: count) + "\r\n"
      }
      return made(text + "0\r\n\r\n")
    case 10: return made("GET /a HTTP/1.1\r\n\(host)Connection: close\r\n\r\n", isLast: true)
    case 11: return made("GET /a HTTP/1.0\r\n\r\n", isLast: true)
    case 12: return made("GET /a HTTP/1.1\r\n\(host)\(host)\r\n", 400, isLast: true)
    case 13:
      return made(
        "POST /a HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501,
        isLast: true)
    case 14: return made("GET /a HTTP/1.1\r\n\(host)Upgrade: x\r\n\r\n", isLast: true)
    default: return made("zz zz\r\n\r\n", 400, isLast: true)
    }
  }

  private static func length(_ dice: inout SeededGenerator) -> Int {
    switch Int.random(in: 0..<40, using: &dice) {
    case 0...1: Limits.bodyBytes + Int.random(in: 0...200_000, using: &dice)
    case 2...5: Int.random(in: 0...20_000, using: &dice)
    default: Int.random(in: 0...200, using: &dice)
    }
  }

  private mutating func damage(_ dice: inout SeededGenerator) {
    guard let index = bytes.indices.randomElement(using: &dice) else { return }
    switch Int.random(in: 0..<4, using: &dice) {
    case 0: bytes[index] = UInt8.random(in: 0...255, using: &dice)
    case 1: bytes.remove(at: index)
    case 2: bytes.insert(UInt8.random(in: 0...255, using: &dice), at: index)
    default: bytes.removeLast(min(bytes.count - index, 50))
    }
  }
}

/// One answer, as a client reads it.
struct FuzzAnswer {
  let status: Int
  /// The request's, in the order in which the responder got them; nil where no responder answered.
  let number: Int?
  let isLast: Bool

  /// - Parameter methods: of the requests, in the same order.
  static func read(
    _ bytes: [UInt8], methods: [HTTPMethod]
  ) throws(ConnectionRun.Fault) -> [FuzzAnswer] {
    var rest = bytes[...]
    var answers: [FuzzAnswer] = []
    while let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) {
      let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
        .components(separatedBy: "\r\n")
      func field(_ name: String) -> String? {
        lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
      }
      let words = lines[0].split(separator: " ")
      guard words.count > 1, words[0] == "HTTP/1.1", let status = Int(words[1]),
        let length = field("Content-Length").flatMap({ Int($0) })
      else { throw ConnectionRun.Fault(reason: "no answer: \(lines[0])") }
      let number = field("Number").flatMap { Int($0) }
      let isEmpty = number.map { methods[$0] == .HEAD } ?? false
      rest = rest[end.upperBound...].dropFirst(isEmpty ? 0 : length)
      answers.append(
        FuzzAnswer(status: status, number: number, isLast: field("Connection") == "close"))
    }
    guard rest.isEmpty else { throw ConnectionRun.Fault(reason: "half an answer at the end") }
    return answers
  }
}

/// Numbers its requests, asks for the bodies of some, and answers when the test says so.
final class FuzzDesk: Responder {
  private struct State {
    var methods: [HTTPMethod] = []
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var methods: [HTTPMethod] { state.withLock { $0.methods } }
  /// It has a request that it does not read any more of.
  var isAsked: Bool { state.withLock { $0.waiting != nil } }

  func respond(to request: Request) async -> Response {
    let number = state.withLock { state in
      state.methods.append(request.method)
      return state.methods.count - 1
    }
    if request.path == "/body" { _ = try? await request.body.collect(upTo: Limits.bodyBytes) }
    await withCheckedContinuation { turn in state.withLock { $0.waiting = turn } }
    return Response(
      status: 200, headers: ["Number": "\(number)"], body: Array("{\"a\":1}".utf8))
  }

  func answer() {
    let turn = state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
    turn?.resume()
  }
}
