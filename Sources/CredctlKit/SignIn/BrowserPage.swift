public import CredCore

/// An answer of the listener to a browser: a fixed page without script, or a redirect to the
/// provider.
///
/// It says "signed in" only when it is true: the page waits for the exchange of the tokens.
public struct BrowserPage: Sendable, Equatable {
  private let status: String
  private let title: String
  private let text: String
  private var location: Secret?

  /// A redirect to the provider.
  public static func redirect(to url: Secret) -> BrowserPage {
    BrowserPage("302 Found", "Sign-in", "The sign-in goes on at the provider.", location: url)
  }

  public static func signedIn(profile: String, username: String?) -> BrowserPage {
    let name = username.map { " as \($0)" } ?? ""
    return BrowserPage(
      "200 OK", "Signed in",
      "You are signed in to the profile \(profile)\(name). You can close this page.")
  }

  /// The user is known, and must confirm in the terminal.
  public static let unconfirmed = BrowserPage(
    "200 OK", "Almost signed in", "Go back to the terminal: it asks you to confirm the sign-in.")

  /// - Parameter reason: the reason, with advice.
  public static func failed(_ reason: String) -> BrowserPage {
    BrowserPage(
      "200 OK", "Not signed in", "The sign-in has failed: \(reason). You can close this page.")
  }

  public static let ended = BrowserPage(
    "410 Gone", "The sign-in has ended",
    "This sign-in has ended: begin again in the terminal.")

  public static let notFound = BrowserPage(
    "404 Not Found", "Nothing here", "This page belongs to no sign-in that goes on.")

  public static let wrongHost = BrowserPage(
    "421 Misdirected Request", "Another host", "This listener serves its own address alone.")

  public static let wrongMethod = BrowserPage(
    "405 Method Not Allowed", "GET alone", "This listener takes GET alone.")

  public static let refused = BrowserPage(
    "400 Bad Request", "No request", "That was no request of a browser.")

  /// The page for a connection of another user, or of a user whom the kernel does not name.
  public static let stranger = BrowserPage(
    "403 Forbidden", "Not yours",
    "This sign-in belongs to another user of this host: nothing was changed.")

  private init(_ status: String, _ title: String, _ text: String, location: Secret? = nil) {
    self.status = status
    self.title = title
    self.text = text
    self.location = location
  }

  /// The whole answer, after which the connection ends.
  public var bytes: [UInt8] {
    let body = Array(
      """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>credd: \(Self.escaped(title))</title>
      <style>body{font:1.1em sans-serif;margin:4em auto;max-width:36em;padding:0 1em}</style></head>
      <body><h1>\(Self.escaped(title))</h1><p>\(Self.escaped(PlainText.oneLine(text)))</p></body></html>

      """.utf8)
    var head = "HTTP/1.1 \(status)\r\n"
    for line in Self.headers { head += line + "\r\n" }
    if status.hasPrefix("405") { head += "Allow: GET\r\n" }
    head += "Content-Length: \(body.count)\r\n"
    var bytes = Array(head.utf8)
    if let location {
      bytes += "Location: ".utf8
      bytes += location.bytes
      bytes += "\r\n".utf8
    }
    return bytes + Array("\r\n".utf8) + body
  }

  private static let headers = [
    "Content-Type: text/html; charset=utf-8", "Cache-Control: no-store",
    "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
      + "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy: same-origin", "Connection: close",
  ]

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
