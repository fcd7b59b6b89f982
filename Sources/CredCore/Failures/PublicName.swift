/// Long names that are no secrets, although they have digits. They stand in DNS or in the
/// configuration, and a person needs them to find a mistake.
///
/// An upstream could write a secret in the form of a host name. So the parts with digits must together
/// be shorter than a secret. Then the name shows no more of a secret than a short text, which credd
/// does not hide either.
enum PublicName {
  /// - Parameter secretRun: the length from which a run with digits counts as a secret.
  static func isOne(_ run: String, secretRun: Int) -> Bool {
    isUUID(run) || isUserPoolID(run)
      || isHostName(withoutURLMarks(run), secretRun) || isConsole(run, secretRun)
  }

  /// A role, its session or a policy: `arn:aws:iam::123456789012:policy/NAME`.
  static func isARN(_ word: Substring) -> Bool {
    let parts = word.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0] == "arn", parts[1].hasPrefix("aws"),
      ["iam", "sts"].contains(parts[2]), parts[3].isEmpty,
      parts[4] == "aws" || String(parts[4]).isAccountID
    else { return false }
    return parts[1].utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isLowercase }
      && parts[5].containsOnlyLettersDigits(or: "_+=,.@-/") && !parts[5].contains(bytesOf: "eyJ")
  }

  private static let details = "/authorization-details/"

  /// The authorization ids of refusals. AWS puts such an id behind its text: "Go to
  /// https://us-east-1.console.aws.amazon.com/iam/home?region=us-east-1#/authorization-details/ID …
  /// with the following authorization id: ID". An id is `[0-9a-z]+` (API reference of
  /// GetRequestAuthorizationDetails). Returned are the runs of characters in which an id stands.
  static func authorizations(in words: [Substring]) -> Set<String> {
    var names: Set<String> = []
    for (index, word) in words.enumerated() {
      let parts = word.split(separator: "#", maxSplits: 1)
      if parts.count == 2, parts[1].hasPrefix(details) {
        names.insert(details + authorization(parts[1].dropFirst(details.count)))
      } else if index > 1, words[index - 1] == "id:", words[index - 2] == "authorization" {
        let id = authorization(word)
        names.formUnion([id, id + "."])
      }
    }
    return names
  }

  private static func authorization(_ text: Substring) -> String {
    String(text.prefix(256).prefix { $0.isASCII && ($0.isNumber || $0.isLowercase) })
  }

  /// `//HOST/iam/home`, where AWS's console explains a refusal.
  private static func isConsole(_ run: String, _ secretRun: Int) -> Bool {
    let path = "/iam/home"
    guard run.hasPrefix("//"), run.hasSuffix(path) else { return false }
    return isHostName(run.dropFirst(2).dropLast(path.count), secretRun)
  }

  /// As in every IdentityId and id of an identity pool.
  private static func isUUID(_ run: String) -> Bool {
    let groups = run.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy(\.isHexDigit)
  }

  /// `ap-southeast-1_AbCdEf123`: a region's name and an id, which has 9 letters and digits.
  private static func isUserPoolID(_ run: String) -> Bool {
    let parts = run.split(separator: "_", omittingEmptySubsequences: false)
    return parts.count == 2 && isRegion(parts[0])
      && (1...12).contains(parts[1].utf8.count) && parts[1].utf8.allSatisfy(\.isLetterOrDigit)
  }

  /// `us-gov-west-1`: words, and a number at the end alone.
  private static func isRegion(_ name: Substring) -> Bool {
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    guard (3...5).contains(words.count), let number = words.last else { return false }
    return (1...2).contains(number.utf8.count) && number.utf8.allSatisfy(\.isDigit)
      && words.dropLast().allSatisfy { word in
        (1...12).contains(word.utf8.count) && word.utf8.allSatisfy(\.isLowercase)
      }
  }

  /// A host name of three labels or more, in lower case.
  private static func isHostName(_ name: Substring, _ secretRun: Int) -> Bool {
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count >= 3, labels.allSatisfy(isLabel),
      let top = labels.last, top.count >= 2, !top.utf8.contains(where: \.isDigit)
    else { return false }
    let withDigits = labels.flatMap { $0.split(separator: "-") }
      .filter { $0.utf8.contains(where: \.isDigit) }
    return withDigits.reduce(0) { $0 + $1.count } < secretRun
  }

  /// RFC 1123, 2.1: letters, digits and hyphens, at most 63, no hyphen at an end.
  private static func isLabel(_ label: Substring) -> Bool {
    (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
      && label.utf8.allSatisfy { $0 == UInt8(ascii: "-") || $0.isDigit || $0.isLowercase }
  }

  /// The name without the slashes that stand around it in `https://HOST/`, and without the dot that
  /// ends a sentence.
  private static func withoutURLMarks(_ run: String) -> Substring {
    var name = run[...]
    if name.hasPrefix("//") { name = name.dropFirst(2) }
    if let last = name.last, ["/", "."].contains(last) { name = name.dropLast() }
    return name
  }
}
