import AuthCore
import Foundation
import FuzzTargets

extension AuthFuzzTarget {
  /// Foundation reads the same members, from what came and from what is written of them.
  func judgeJSON(_ bytes: [UInt8]) -> Verdict {
    guard let object = try? JSONObject(bytes) else { return .refused }
    for name in ["Username", "Logins"] {
      let text = try? object.optionalText(name)
      guard (try? object.text(name)) == (text ?? nil) else {
        return .fault("\(name) has two values")
      }
    }
    guard let members = try? object.members() else { return .refused }
    let written = JSONObject.text(members)
    return .all([
      .of("the members", Self.sorted(members), Self.second(bytes)),
      .of("what is written", Self.sorted(members), Self.second(written)),
      .check((try? JSONObject(written).members()) == members, "written and read as others"),
      .check(
        members.allSatisfy {
          (try? object.text($0.key))?.utf8.elementsEqual($0.value.utf8) == true
        },
        "a member has two values"),
    ])
  }

  private static func second(_ bytes: [UInt8]) -> [[[UInt8]]]? {
    (try? JSONDecoder().decode([String: String].self, from: Data(bytes))).map(sorted)
  }

  /// By bytes: to Swift, two spellings of a letter are the same.
  private static func sorted(_ members: [String: String]) -> [[[UInt8]]] {
    members.map { [Array($0.key.utf8), Array($0.value.utf8)] }
      .sorted { $0[0].lexicographicallyPrecedes($1[0]) }
  }

  /// The first line is the target, and what follows is a form.
  func judgeRequest(_ bytes: [UInt8]) -> Verdict {
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    let text = String(decoding: bytes[..<end], as: UTF8.self)
    let target = RequestTarget(text)
    let path = Array(text.utf8.prefix { $0 != UInt8(ascii: "?") })
    let query = text.utf8.dropFirst(path.count + 1)
    let body = String(decoding: bytes[end...].dropFirst(), as: UTF8.self)
    let form = FormValues([target.query, body])
    return .all([
      .check(
        target.path.utf8.elementsEqual(path)
          || text.utf8.starts(with: "http".utf8)
            && path.suffix(target.path.utf8.count).elementsEqual(target.path.utf8),
        "another path: \(target.path)"),
      .check(target.query.utf8.elementsEqual(query), "another query: \(target.query)"),
      .of("the form", form.map(Self.pairs), Self.secondForm([target.query, body])),
      .check(
        form.map { FormValues([Self.encoded($0)]) == $0 } ?? true, "written and read otherwise"),
    ])
  }

  private static func pairs(_ form: FormValues) -> [[UInt8]: [UInt8]] {
    Dictionary(
      uniqueKeysWithValues: form.names.map { (Array($0.utf8), Array((form[$0] ?? "").utf8)) })
  }

  /// As HTML's standard says; nil where a name stands twice.
  private static func secondForm(_ texts: [String]) -> [[UInt8]: [UInt8]]? {
    var pairs: [[UInt8]: [UInt8]] = [:]
    var names: Set<String> = []
    for part in texts.flatMap({ $0.utf8.split(separator: UInt8(ascii: "&")) }) {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard let key = decoded(name), let value = decoded(part.dropFirst(name.count + 1)),
        names.insert(key).inserted
      else { return nil }
      pairs[Array(key.utf8)] = Array(value.utf8)
    }
    return pairs
  }

  private static func decoded(_ bytes: some Sequence<UInt8>) -> String? {
    SecondPercent.decode(bytes).flatMap { String(validating: $0, as: UTF8.self) }
  }

  private static func encoded(_ form: FormValues) -> String {
    func encoded(_ text: String) -> String {
      text.utf8.map { "%" + Hex.encode([$0]) }.joined()
    }
    return form.names.map { encoded($0) + "=" + encoded(form[$0] ?? "") }.joined(separator: "&")
  }
}

extension Dice {
  mutating func body() -> String {
    let names = ["Username", "Password", "DeveloperUserIdentifier", "Logins", "é", "e\u{301}", "a"]
    let members = (0..<number(4)).map { _ in "\"\(pick(names))\":\(bodyValue())" }
    return "{" + members.joined(separator: once(in: 20) ? ",," : ", ")
      + (once(in: 8) ? pick([",}", "}}", "", "}\u{0}"]) : "}")
  }

  private mutating func bodyValue() -> String {
    if once(in: 8) { return String(decoding: FuzzTarget.json.made(&self), as: UTF8.self) }
    let parts = ["a", "é", "\\n", "\\u00e9", "\\\"", "😀", "\\ud83d\\ude00", "\\/", " ", "\u{202E}"]
    return "\"" + (0..<number(5)).map { _ in pick(parts) }.joined() + "\""
  }

  mutating func targetAndForm() -> String {
    let starts = ["/gettoken", "/v1/token", "http://h/login", "https://h", "*", "", "//h/x"]
    return pick(starts) + (once(in: 2) ? "?" + form() : "") + "\n" + (once(in: 2) ? form() : "")
  }

  private mutating func form() -> String {
    let names = [
      "uid", "timestamp", "signature", "provider1", "token1", "username", "%75id", "e%CC%81",
    ]
    let values = ["", "a", "a+b", "%2B", "%C3%A9", "a=b", "2026-01-02T03:04:05Z", "é", "x\r\ny"]
    return (0..<number(5)).map { _ in
      pick(names) + pick(["=", "=", "=", ""])
        + (once(in: 20) ? pick(["%", "%2", "%FF", "%zz"]) : pick(values))
    }.joined(separator: pick(["&", "&", "&&"]))
  }
}
