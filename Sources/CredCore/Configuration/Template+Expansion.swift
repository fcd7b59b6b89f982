extension Template {
  /// Whether a uid without a name cannot use this.
  public var needsUserName: Bool { parts.contains(.placeholder(.user)) }

  /// Whether it is the same text for everyone.
  public var isConstant: Bool {
    parts.allSatisfy { if case .literal = $0 { true } else { false } }
  }

  /// The text around the placeholders.
  var literals: [String] {
    parts.compactMap { if case .literal(let text) = $0 { text } else { nil } }
  }

  /// The text for one caller. Throws where `user` is nil and needed, and for `.urlPath` where a
  /// value makes a path segment `.` or `..`, which would lead to another resource.
  public func expand(
    user: String?, uid: UInt32, host: String, encoding: Encoding = .none
  ) throws(TemplateError) -> String {
    var result = ""
    for part in parts {
      let value: String
      switch part {
      case .literal(let text):
        result += text
        continue
      case .placeholder(.user):
        guard let user else { throw .userNameNeeded }
        value = user
      case .placeholder(.uid):
        value = String(uid)
      case .placeholder(.host):
        value = host
      }
      result += encoding == .none ? value : PercentEncoding.encode(value)
    }
    if encoding == .urlPath, !isConstant, result.holdsDotSegment { throw .dotSegment }
    return result
  }
}

extension String {
  /// Whether a part between slashes is `.` or `..`, plain or percent-encoded: HTTP clients and
  /// servers remove those together with the segment before.
  var holdsDotSegment: Bool {
    split { $0 == "/" || $0 == "?" }.contains { segment in
      [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(segment.lowercased())
    }
  }
}
