public import CredCore

/// The ways to sign in to a profile, from the reply to `status` with `profiles`.
public struct SignInOffer: Sendable, Equatable {
  /// A way to sign in that goes on outside the terminal.
  public enum Way: String, Sendable {
    case browser
    case paste
    case device
  }

  /// The ways, in the order of the configuration.
  public let ways: [Way]
  /// The addresses to which a browser may come back.
  public let redirectURIs: [String]
  /// Whether users can also sign in at the terminal.
  public let hasPassword: Bool

  /// Returns nil if the profile is not in the reply.
  public init?(_ reply: JSONValue, profile: String) {
    guard case .array(let profiles) = reply["Profiles"],
      let entry = profiles.first(where: { $0["Profile"]?.text == profile })
    else { return nil }
    let means = Self.texts(entry["SignIn"]?["Means"])
    ways = means.compactMap(Way.init)
    hasPassword = means.contains("password")
    redirectURIs = Self.texts(entry["SignIn"]?["RedirectUris"])
  }

  /// The default way; nil if the sign-in stays in the terminal.
  ///
  /// - Parameters:
  ///   - canOpen: whether credctl can open a browser here.
  ///   - isRemote: whether the user sits at another host, and cannot see a browser of this host.
  public func way(canOpen: Bool, isRemote: Bool) -> Way? {
    guard let first = ways.first else { return nil }
    guard first == .browser, !canOpen || isRemote else { return first }
    if ways.contains(.device) { return .device }
    // A name and a password can be typed at any terminal.
    if hasPassword { return nil }
    return .paste
  }

  private static func texts(_ value: JSONValue?) -> [String] {
    guard case .array(let elements) = value else { return [] }
    return elements.compactMap(\.text)
  }
}

/// The options of a sign-in by browser in the request.
public struct BrowserWishes: Sendable, Equatable {
  public var redirectURI: String?
  public var identityProvider: String?
  /// Whether the provider must ask for the password again.
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
