import CredCore

/// What the tests of Cognito, STS and the backends share.
enum Samples {
  static let poolText = "us-east-1:11111111-2222-3333-4444-555555555555"
  static let identityText = "us-east-1:99999999-8888-7777-6666-555555555555"
  static let provider = "login.example.app"

  static var pool: IdentityPoolID {
    get throws { try IdentityPoolID(poolText) }
  }

  static var identity: IdentityID {
    get throws { try IdentityID(identityText) }
  }

  static var query: TokenQuery {
    get throws {
      TokenQuery(pool: try pool, developerProvider: provider, userIdentifier: "alice")
    }
  }

  static var cognito: CognitoIdentity {
    get throws { CognitoIdentity(try AWSEndpoint(.cognitoIdentity, region: "us-east-1")) }
  }

  static func reply(_ status: Int = 200, _ body: String, _ headers: [String: String] = [:])
    -> HTTPReply
  {
    HTTPReply(
      status: status, headers: headers.map { HTTPReply.Header(name: $0.key, value: $0.value) },
      body: Secret(body))
  }

  /// `header.payload.signature` of which only the payload means something.
  static func jwt(_ payload: String) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var text = ""
    var bits = 0
    var count = 0
    for byte in payload.utf8 {
      bits = bits << 8 | Int(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(alphabet[bits >> count & 63])
      }
      bits &= 0xFF
    }
    if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
    return "eyJhbGciOiJSUzUxMiJ9.\(text).c2lnbmF0dXJl"
  }

  /// The text of a request's body.
  static func body(_ request: HTTPRequest) -> String {
    String(decoding: request.body.bytes, as: UTF8.self)
  }

  static func header(_ request: HTTPRequest, _ name: String) -> String? {
    request.headers.first { $0.name == name }?.value.exposedText()
  }
}

/// Changes a byte or several of a text, cuts it or repeats part of it; the same for a seed.
struct Mutations: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func mutate(_ text: String) -> Secret {
    var bytes = Array(text.utf8)
    for _ in 0...Int.random(in: 0...3, using: &self) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &self)
      switch Int.random(in: 0...4, using: &self) {
      case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &self)
      case 1: bytes.remove(at: index)
      case 2: bytes.removeSubrange(index...)
      case 3: bytes.insert(contentsOf: bytes.prefix(index), at: index)
      default: bytes[index] = "\"{}[],:<>&;=.0e-\\".utf8.randomElement(using: &self) ?? 0
      }
    }
    return Secret(bytes)
  }
}
