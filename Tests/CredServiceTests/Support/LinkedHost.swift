import CredCore
import Testing

@testable import CredService
@testable import ServiceTesting

/// A host with a backend, a provider, and the logins that the backend got.
final class LinkedHost {
  static let login =
    #"{"op":"login","browser":{"redirect_uri":"http://127.0.0.1:4711/okta"}}"#
  private static let key = "login.example.com"

  let fixture: ServiceFixture
  let provider: FakeProvider
  /// One of each callback: the token of the provider, or nil.
  private(set) var linked: [String?] = []
  /// Answered in place of the usual reply to a callback, once each.
  var refusals: [FakeHTTP.Answer] = []

  init(_ text: String = Configured.linking()) throws {
    fixture = try ServiceFixture(text)
    provider = FakeProvider(fixture)
    let usual = fixture.host.http.answer
    fixture.host.http.answer = { [unowned self] request in
      guard request.url == "http://127.0.0.1/token" else { return usual(request) }
      linked.append(request.json?["Logins"]?[Self.key]?.text)
      return refusals.isEmpty ? usual(request) : refusals.removeFirst()
    }
  }

  func ask(_ line: String = "{}") throws -> Reply { try fixture.ask(line) }

  /// Until a question, or the end.
  func signIn() throws -> Reply {
    let asked = try ask(Self.login)
    return try ask(asked.response("response", "\"\(provider.browse(asked))\""))
  }

  @discardableResult
  func link() throws -> Reply {
    let asked = try signIn()
    try #require(asked["Challenge"]?["Step"]?.text == "confirm", "\(asked)")
    return try ask(asked.response("confirm", "true"))
  }

  var renewals: [String] {
    provider.forms.filter { $0["grant_type"] == "refresh_token" }
      .compactMap { $0["refresh_token"] }
  }
}

extension Configured {
  /// A backend, and a provider whose sign-ins it links.
  static func linking(
    corp: String = "", provider: String = "", profile: String = ""
  ) -> String {
    http(backend: corp)
      + self.provider(backend: provider, profile: profile)
      .replacing(
        "backend = okta\ncognito",
        with: """
          backend = corp
          link_backend = okta
          developer_provider = login.example.app
          user_identifier = alice
          cognito
          """)
  }
}
