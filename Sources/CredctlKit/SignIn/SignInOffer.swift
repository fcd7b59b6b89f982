public import CredCore

/// How one may sign in to a profile, as `status` with `profiles` replies.
public struct SignInOffer: Sendable, Equatable {
  /// A way to sign in that goes on elsewhere.
  public enum Way: String, Sendable {
    case browser
    case paste
    case device
  }

  /// In the order in which the configuration offers them.
  public let ways: [Way]
  /// Where a browser may come back to.
  public let redirectURIs: [String]
  /// Whether there is a sign-in at the terminal too.
  public let hasPassword: Bool

  /// Nil if the profile is not in the reply.
  public init?(_ reply: JSONValue, profile: String) {
    guard case .array(let profiles) = reply["Profiles"],
      let entry = profiles.first(where: { $0["Profile"]?.text == profile })
    else { return nil }
    let means = Self.texts(entry["SignIn"]?["Means"])
    ways = means.compactMap(Way.init)
    hasPassword = means.contains("password")
    redirectURIs = Self.texts(entry["SignIn"]?["RedirectUris"])
  }

  /// What is done without an option; nil where the sign-in is not elsewhere.
  ///
  /// - Parameters:
  ///   - canOpen: whether a browser can be opened here.
  ///   - isRemote: whether the user sits at another host, and sees no browser of this one.
  public func way(canOpen: Bool, isRemote: Bool) -> Way? {
    guard let first = ways.first else { return nil }
    guard first == .browser, !canOpen || isRemote else { return first }
    if ways.contains(.device) { return .device }
    // A name and a password go through a terminal too.
    if hasPassword { return nil }
    return .paste
  }

  private static func texts(_ value: JSONValue?) -> [String] {
    guard case .array(let elements) = value else { return [] }
    return elements.compactMap(\.text)
  }
}

/// What a sign-in by browser asks the daemon for.
public struct BrowserWishes: Sendable, Equatable {
  public var redirectURI: String?
  public var identityProvider: String?
  /// Whether the provider has to ask for the password again.
  public var asksAnew = false
  public var scopes: [String] = []

  public init() {}
}

extension RequestLine {
  public mutating func add(_ wishes: BrowserWishes) {
    writer.key("browser")
    writer.beginObject()
    if let uri = wishes.redirectURI {
      writer.key("redirect_uri")
      writer.string(uri)
    }
    if let provider = wishes.identityProvider {
      writer.key("identity_provider")
      writer.string(provider)
    }
    if wishes.asksAnew {
      writer.key("prompt")
      writer.string("login")
    }
    if !wishes.scopes.isEmpty { add("scopes", wishes.scopes) }
    writer.endObject()
  }
}
