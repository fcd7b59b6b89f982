public import CredCore

/// The part of a browser in a sign-in.
public struct BrowserStep: Sendable, Equatable {
  /// The URL. It contains the state, so it must not be in an argument list.
  public let url: Secret
  public let redirectURI: String
  public let state: Secret
  /// The URL as text for a terminal.
  public let shownURL: String

  init(_ parameters: JSONValue) throws(Failure) {
    guard let url = parameters["Url"]?.text, SafeURL.isSafe(url),
      let redirectURI = parameters["RedirectUri"]?.text, SafeURL.isSafe(redirectURI),
      let state = parameters["State"]?.secret, !state.isEmpty
    else {
      throw Failure(
        .unavailable, "the reply is not one of credd's, its browser step has no usable URL")
    }
    self.url = Secret(url)
    self.redirectURI = redirectURI
    self.state = state
    shownURL = url
  }
}

/// The part of a user on another device in a sign-in.
public struct DeviceStep: Sendable, Equatable {
  public let userCode: String
  public let url: String
  /// The URL with the code in it.
  public let completeURL: String?

  init(_ parameters: JSONValue) throws(Failure) {
    guard let code = parameters["UserCode"]?.text, !code.isEmpty,
      code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
      let url = parameters["Url"]?.text, SafeURL.isSafe(url)
    else {
      throw Failure(
        .unavailable, "the reply is not one of credd's, its device step has no usable code or URL")
    }
    userCode = code
    self.url = url
    completeURL = parameters["CompleteUrl"]?.text.flatMap { SafeURL.isSafe($0) ? $0 : nil }
  }

  /// The URL in the QR code.
  public var scanned: String { completeURL ?? url }

  /// The lines, which stand below the QR code: the link and the code must stay on the screen.
  ///
  /// An attacker who gets a person to type a code is signed in as that person. So the lines say
  /// what the code does, where, and when not to type it (RFC 8628, 5.4).
  public func lines(profile: String, host: String, hasQRCode: Bool) -> [String] {
    let link = [
      "To sign in to profile \(profile), open this page on any device:", "", "  \(url)", "",
      "and type this code there:", "", "  \(userCode)", "",
    ]
    let scan =
      completeURL == nil || !hasQRCode
      ? [] : ["The QR code brings the code along: compare it with this one."]
    let warning = [
      "The code lets this program on \(host) act with your account.",
      "Type it only if you began this sign-in yourself: whoever sent it to you would be signed in as "
        + "you.", "",
      "Waiting for you to sign in there. Ctrl-C ends the sign-in.",
    ]
    return (link + scan + warning).map(Self.shown)
  }

  /// A URL must be complete to be shown.
  private static func shown(_ line: String) -> String {
    line.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? line : PlainText.oneLine(line)
  }
}

/// The person as whom the user would be signed in, for the user to confirm.
struct ConfirmStep: Sendable, Equatable {
  let lines: [String]

  init(_ challenge: Challenge) {
    let parameters = challenge.parameters
    let subject = parameters["Subject"]?.text ?? "-"
    let name = parameters["Username"]?.text
    let who = name.map { "\($0) (\(subject))" } ?? subject
    var lines = ["You signed in as \(who) at \(parameters["Issuer"]?.text ?? "-")."]
    if let replaced = parameters["Replaces"]?.text {
      lines.append("That ends the sign-in of \(replaced) in this profile.")
    }
    if let identity = parameters["LinksTo"]?.text {
      lines.append(Self.link(to: identity, isOfGuest: challenge.isOfGuest))
    }
    self.lines = lines
  }

  /// Only Cognito knows whether an account has an identity already.
  ///
  /// - Parameter identity: an IdentityId, or the developer provider if no IdentityId is known so
  ///   far.
  private static func link(to identity: String, isOfGuest: Bool) -> String {
    if isOfGuest {
      return "If this account has no identity yet, it gets that of the guest, \(identity), for "
        + "good; if it has one, this profile changes to that one."
    }
    return identity.contains(":")
      ? "That links this account to the identity \(identity) for good."
      : "That links this account to your user at \(identity) for good."
  }
}

/// URLs that may be shown and opened: printable ASCII, as the daemon sends them.
enum SafeURL {
  static func isSafe(_ text: String) -> Bool {
    (text.hasPrefix("https://") || text.hasPrefix("http://"))
      && text.utf8.count <= Limits.OIDC.urlBytes && text.utf8.allSatisfy(\.isVisible)
  }
}

/// Texts about a sign-in by browser.
public enum BrowserText {
  /// - Parameter forwarded: the port and this host, if the user sits at another host.
  public static func lines(
    _ step: BrowserStep, profile: String, opens: Bool, listens: Bool, forwarded: (UInt16, String)?
  ) -> [String] {
    var lines: [String]
    if opens {
      lines = [
        "A browser opens to sign in to profile \(profile). If none does, open this link:", "",
      ]
    } else {
      lines = ["To sign in to profile \(profile), open this link in a browser:", ""]
    }
    lines += ["  \(step.shownURL)", ""]
    if opens {
      lines += [
        "If the browser cannot load the last page, copy its address and paste it here (it is not shown)."
      ]
    } else {
      lines += [
        "The last page may be one that cannot be loaded: copy its address, which starts with",
        "\(step.redirectURI)?, and paste it here (it is not shown).",
      ]
    }
    if !opens, listens, let (port, host) = forwarded {
      lines.append("Or let it come by itself: 'ssh -L \(port):localhost:\(port) \(host)'.")
    }
    lines.append("Ctrl-C ends the sign-in.")
    return lines.map { $0 == "  \(step.shownURL)" ? $0 : PlainText.oneLine($0) }
  }
}

/// The provider's page that ends a browser's own session, in the reply to `logout`.
public enum LogoutPage {
  public static func url(in reply: JSONValue) -> String? {
    reply["LogoutUrl"]?.text.flatMap { SafeURL.isSafe($0) ? $0 : nil }
  }

  /// Where `--browser` finds no page.
  public static let missing = Failure(
    .unavailable,
    "signed out here, but nothing signs the browser out: credd knows no page of a provider for that; set "
      + "'logout_redirect_uri' for a user pool, 'end_session_endpoint' for another provider")

  /// Where no browser can be started, and nobody is there who could open the page.
  public static func unopened(_ url: String) -> Failure {
    Failure(.unavailable, "signed out here, but no browser could be started to open \(url)")
  }
}
