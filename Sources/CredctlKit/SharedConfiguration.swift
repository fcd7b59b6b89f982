/// The sources of credentials in a user's `~/.aws/config`.
///
/// SDKs look there before they ask the endpoint. The file is still used, because it also names the
/// region and the authorities.
public enum SharedConfiguration {
  /// Keys that name a source of credentials, in the order in which they are looked for.
  private static let sources = [
    "aws_access_key_id", "role_arn", "credential_process", "sso_session", "sso_start_url",
    "web_identity_token_file", "source_profile", "credential_source", "login_session",
  ]

  /// The path of the file; nil without a home directory.
  public static func path(environment: (String) -> String?) -> String? {
    if let path = environment("AWS_CONFIG_FILE"), !path.isEmpty { return path }
    guard let home = environment("HOME"), !home.isEmpty else { return nil }
    return home + "/.aws/config"
  }

  /// The key of the section `default` by which SDKs find other credentials; nil if there is none.
  public static func source(in text: [UInt8]) -> String? {
    var isDefault = false
    var found: Set<String> = []
    for bytes in text.split(separator: UInt8(ascii: "\n")) {
      let line = String(decoding: bytes, as: UTF8.self)
      // An indented line belongs to the key above it.
      guard let first = line.utf8.first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t")
      else { continue }
      if first == UInt8(ascii: "[") {
        let name = line.dropFirst().prefix { $0 != "]" }.split(whereSeparator: \.isWhitespace)
        isDefault = name == ["default"] || name == ["profile", "default"]
      } else if isDefault, line.utf8.contains(UInt8(ascii: "=")) {
        let key = line.prefix { $0 != "=" }.split(whereSeparator: \.isWhitespace).first ?? ""
        found.insert(key.lowercased())
      }
    }
    return sources.first(where: found.contains)
  }

  /// The warning for a user with programs that would not ask the endpoint.
  public static func warning(of source: String, in path: String) -> String {
    "[default] of \(path) has \(source), which SDKs may take before the endpoint; '--no-config' "
      + "leaves the file out"
  }
}
