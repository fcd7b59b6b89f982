internal import CredCore

/// Where a profile's credentials come from, for people: from the user's identity, or from another
/// profile.
enum DerivedText {
  static let header = "CREDENTIALS"

  /// `from work, narrowed by readonly.json`.
  ///
  /// - Parameter entry: a profile or a session of `status`, or the reply to `identity`.
  /// - Returns: nil for a profile that is not derived.
  static func words(_ entry: JSONValue) -> String? {
    let (source, policy) = (entry["Source"]?.text, entry["Policy"]?.text)
    let role = entry["RoleArn"]?.text
    var words = [
      source.map { "from \($0)" }, role.map(name(ofRole:)), policy.map { "narrowed by \($0)" },
    ].compactMap(\.self)
    // What has neither is derived to end sooner.
    if source != nil, role == nil, policy == nil { words.append("for a shorter time") }
    if entry["Credentials"] == .bool(false) { words.append("for derived profiles alone") }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }

  /// `role reader of 123456789012`: a terminal has no room for an ARN.
  private static func name(ofRole arn: String) -> String {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard parts.count == 6, let name = parts[5].split(separator: "/").last else {
      return "role \(arn)"
    }
    return "role \(name) of \(parts[4])"
  }
}
