import CredCore

extension Configuration.Database {
  /// A connection to another machine must check the server's certificate, and the name in it. No
  /// message repeats the text, because it may hold a password.
  init(_ text: String) throws(InvalidValue) {
    guard !text.hasPrefix("/") else {
      self = .sqlite(path: text)
      return
    }
    let isURL = text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
    if isURL { try Self.checkUser(text) }
    guard isURL, let url = Self.checked(text) else {
      throw InvalidValue(
        "is neither a path from the root nor postgresql://… with sslmode=verify-full")
    }
    self = .postgres(url: url)
  }

  /// To libpq, a user's name and a password end at the first @, even at an @ behind a ?.
  private static func checkUser(_ url: String) throws(InvalidValue) {
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let authority = parts[0].drop { $0 != ":" }.dropFirst(3).prefix { $0 != "/" }
    guard authority.count(where: { $0 == "@" }) < 2, parts.count < 2 || !parts[1].contains("@")
    else {
      throw InvalidValue(
        "has a second @, or one behind a ?: within a user's name, a password or a parameter, @ is "
          + "written %40 and ? %3F")
    }
  }

  private static func checked(_ url: String) -> String? {
    let rest = url.drop { $0 != ":" }.dropFirst(3)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let parameters = url.split(separator: "?", maxSplits: 1).dropFirst().first.map {
      $0.split(separator: "&").map(String.init)
    }
    let names = (parameters ?? []).map { String($0.prefix { $0 != "=" }) }
    // If a name stands twice, libpq takes the last value. It also reads names that are
    // percent-encoded, and a service of a file.
    guard let hosts = hosts(authority, parameters ?? []), Set(names).count == names.count,
      !names.contains(where: { $0.contains("%") }), !names.contains("service"),
      !names.contains("servicefile")
    else { return nil }
    if hosts.allSatisfy({ HTTPURL.isLoopback(host: $0) || $0.hasPrefix("/") }) { return url }
    guard let mode = parameters?.first(where: { $0.hasPrefix("sslmode=") }) else {
      return url + (parameters == nil ? "?" : "&") + "sslmode=verify-full"
    }
    return mode == "sslmode=verify-full" ? url : nil
  }

  /// Of the authority and of the parameters.
  private static func hosts(_ authority: Substring, _ parameters: [String]) -> [String]? {
    let named = parameters.filter { $0.hasPrefix("host=") || $0.hasPrefix("hostaddr=") }
      .map { $0.drop { $0 != "=" }.dropFirst() }
    let addressed = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard let hosts = machines(addressed, hasPorts: true),
      let others = machines(named.joined(separator: ","), hasPorts: false)
    else { return nil }
    return hosts + others
  }

  /// The machines of a list, as libpq reads it: decoded first, and then cut at commas. Nil if the
  /// list cannot be decoded.
  private static func machines(_ list: some StringProtocol, hasPorts: Bool) -> [String]? {
    guard let text = list.percentDecoded() else { return nil }
    return text.split(separator: ",").map { host in
      guard hasPorts else { return String(host) }
      return String(
        host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" })
    }
  }
}
