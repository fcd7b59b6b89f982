/// The keys of a profile that takes its credentials from another one.
public struct DerivedSettings: Sendable, Equatable {
  /// The family of keys with the session's tags.
  static let tag = "session_tags."

  static func isTag(_ key: String) -> Bool { key.hasPrefix(tag) }

  /// The profile whose credentials sign the call; empty where the value is wrong.
  public var source = ""
  /// The role that is assumed, or the limits of what the source's own session may do.
  public var session = RoleSessionSettings()
  /// That of STS; nil for the source's.
  public var region: String?
  /// For CloudTrail; 2 to 256 characters of ASCII.
  public var description: String?
  /// AssumeRole's ExternalId.
  public var externalID: String?
  /// In the order of their names.
  public var tags: [NamedTemplate] = []
  /// Names of tags that go on to the next role of a chain.
  public var transitiveTags: [String] = []
  /// The identity of the user that stays in every session which follows.
  public var sourceIdentity: Template?
  /// Whether it says by itself how STS is reached, if only by `fips = no`. Else it reaches STS as its
  /// source does.
  public var hasOwnPlace = false

  public init() {}

  mutating func addTag(_ name: String, _ value: ConfigurationValue) throws(InvalidValue) {
    guard name.isSessionTagName else { throw InvalidValue("\(name.singleQuoted) is no tag's name") }
    guard !name.lowercased().hasPrefix("aws:") else {
      throw InvalidValue("\(name.singleQuoted) begins with 'aws:', which AWS keeps for itself")
    }
    // "You cannot have separate Department and department tag keys" (IAM user guide, session tags).
    if let other = tags.first(where: { $0.name.lowercased() == name.lowercased() }) {
      throw InvalidValue("is the tag of '\(Self.tag)\(other.name)': case does not count")
    }
    guard tags.count < Limits.Upstream.sessionTags else {
      throw InvalidValue("more than \(Limits.Upstream.sessionTags) session tags")
    }
    let length = Limits.Upstream.sessionTagValueLength.upperBound
    let syntax = ValueSyntax<Template>.template(length: length, where: \.isSessionTagText)
    tags.append(NamedTemplate(name, try syntax.read(value)))
    tags.sort { $0.name < $1.name }
  }
}

/// A text for each user, with the name under which it is sent.
public struct NamedTemplate: Sendable, Equatable {
  public let name: String
  public let template: Template

  public init(_ name: String, _ template: Template) {
    self.name = name
    self.template = template
  }
}

/// Texts of AssumeRole and GetScopedCredentials (botocore's model of STS, 2026-11-19).
extension String {
  var isSessionDescription: Bool {
    Limits.Upstream.scopeDescriptionLength.contains(utf8.count)
      && utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }

  var isExternalID: Bool {
    Limits.Upstream.externalIDLength.contains(utf8.count)
      && containsOnlyLettersDigits(or: "_+=,.@:/-")
  }

  var isSessionTagName: Bool {
    Limits.Upstream.sessionTagNameLength.contains(unicodeScalars.count) && isSessionTagText
  }

  /// `[\p{L}\p{Z}\p{N}_.:/=+\-@]*`.
  var isSessionTagText: Bool {
    unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .spaceSeparator, .lineSeparator, .paragraphSeparator, .decimalNumber, .letterNumber,
        .otherNumber:
        true
      default: "_.:/=+-@".unicodeScalars.contains(scalar)
      }
    }
  }
}

extension ValueSyntax<String> {
  static var region: ValueSyntax {
    text("a region of AWS such as eu-west-1", where: IdentityPoolID.isRegion)
  }
}
