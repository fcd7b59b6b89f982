extension Dice {
  private static let dayNames = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  private static let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Digits with zeros in front.
  private func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  private mutating func clock() -> String {
    let second = once(in: 8) ? pick([59, 60, 61]) : number(60)
    return
      "\(padded(number(once(in: 12) ? 26 : 24), 2)):\(padded(number(60), 2)):\(padded(second, 2))"
  }

  /// A time in one of the spellings that readers take.
  mutating func time() -> String {
    switch number(10) {
    case 0: return pick(["0", "120", "99999999999", "-1", "1.5", "12 ", "2147483648", ""])
    case 1, 2, 3: return isoTime()
    default: return httpDate()
    }
  }

  mutating func httpDate() -> String {
    let year = once(in: 4) ? pick([0, 1, 1900, 2000, 9999]) : number(in: 1950...2075)
    let day = number(in: 1...(once(in: 8) ? 32 : 28))
    let (name, month, clock) = (pick(Self.dayNames), pick(Self.monthNames), clock())
    return switch number(5) {
    case 0: "\(name), \(padded(day, 2))-\(month)-\(padded(year % 100, 2)) \(clock) GMT"
    case 1:
      "\(name.prefix(3)) \(month) \(day < 10 ? " \(day)" : "\(day)") \(clock) \(padded(year, 4))"
    default: "\(name.prefix(3)), \(padded(day, 2)) \(month) \(padded(year, 4)) \(clock) GMT"
    }
  }

  mutating func isoTime() -> String {
    let year =
      once(in: 4) ? pick([0, 4, 100, 1900, 1970, 2000, 2100, 9999]) : number(in: 2001...2040)
    let month = number(in: 1...(once(in: 12) ? 13 : 12))
    let day = once(in: 6) ? number(in: 28...32) : number(in: 1...28)
    let fraction = once(in: 4) ? pick([".5", ",25", ".999999", "."]) : ""
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))\(pick(["T", "T", "t", " "]))"
      + (once(in: 12) ? String(clock().prefix(5)) : clock() + fraction)
      + pick(["Z", "Z", "z", "+01:30", "-0800", "+05", "+24:00", "", "+1:00", " Z"])
  }
}

extension Dice {
  /// A token: most are JWTs of which credd reads the claims.
  mutating func token() -> String {
    switch number(8) {
    case 0: return text("abcdefXYZ019-_.", 1...30)
    case 1: return pick(["", "t", "a.b", "a.e30.c", ".e30.", "..", "a.e30=.c", "a.bnVsbA.c", "é"])
    default:
      let payload = written(disturbed(claims(), once: 5))
      var text = SecondBase64.encode(Array(payload.utf8), last: once(in: 20) ? "+/" : "-_")
      if once(in: 6) { text += String(repeating: "=", count: number(4)) }
      return "eyJhbGciOiJSUzUxMiJ9." + text + ".c2ln" + (once(in: 20) ? ".x" : "")
    }
  }

  private mutating func claims() -> [(name: String, value: JSONText)] {
    var members: [(name: String, value: JSONText)] = [
      ("sub", .string(identityID())), ("aud", .string(poolID())),
      ("iss", .string("https://cognito-identity.amazonaws.com")),
    ]
    let time: JSONText =
      once(in: 5)
      ? .raw(
        pick([
          "999999999", "1e9", "9999999999.9996", "10000000000", "1700000000000", "0", "-1", "1.7e9",
          "1700000000.0005", "1E+10",
        ]))
      : .raw(
        "\(number(in: 1_600_000_000...1_900_000_000))" + (once(in: 4) ? ".\(number(10_000))" : ""))
    members.append(("exp", time))
    if once(in: 3) {
      members.append(("amr", .array([.string("authenticated"), anyJSON(levels: 1)])))
    }
    return members
  }

  mutating func poolID() -> String {
    once(in: 6)
      ? pick([
        "US-east-1:1", "us-east-1", "-a:1", "us_east:1", "eu-west-1:aa", "us-:1", "us-east-1:x",
      ])
      : "us-east-1:11111111-2222-3333-4444-555555555555"
  }

  /// A URL, often a template.
  mutating func url() -> String {
    let scheme =
      once(in: 20) ? pick(["ftp://", "https:/", "//", "HTTP://"]) : pick(["https://", "http://"])
    let host =
      once(in: 2)
      ? pick(["auth.example.com", "localhost", "127.0.0.1", "[::1]", "a_b"])
      : pick([
        "auth.example.com", "localhost", "LOCALHOST", "127.0.0.1", "127.1", "127.0.0.256",
        "127.00.0.1",
        "[::1]", "[::1%25lo]", "[fe80::1]", "::1", "a_b", "localhost.", "user@host", "127.0.0.1.",
        "é",
        "h{user}", "", "1.2.3.4", "[x]", "10.0.0.1",
      ])
    let port = once(in: 6) ? pick([":443", ":0", ":65535", ":65536", ":", ":x", ":{uid}"]) : ""
    var path = ""
    for _ in 0..<number(4) {
      path +=
        "/"
        + (once(in: 3)
          ? pick(["{user}", "{uid}", "{host}", "{{x}}", "{userx}", "x{user}y"])
          : once(in: 4)
            ? pick([".", "..", "%2E%2e", ".%2e", "%zz", "[1]", "a b", "é"])
            : pick(["a", "", "a%2Fb", "a;b=c", "~", "..."]))
    }
    let query =
      once(in: 3) ? pick(["?", "?u={user}", "?a=b&c={uid}", "?x=/../y", "?a?b", "?[1]"]) : ""
    return scheme + host + port + path + query + (once(in: 20) ? "#f" : "")
  }
}
