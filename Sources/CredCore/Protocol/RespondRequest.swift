/// `respond`: a user's reaction to the question of a sign-in.
public struct RespondRequest: Sendable, Equatable {
  public var handle: ChallengeHandle
  public var input: RespondInput
  /// Data for the pool's triggers; nil to use that of the `login`.
  public var metadata: ClientMetadata?

  public init(
    _ handle: ChallengeHandle, _ input: RespondInput, metadata: ClientMetadata? = nil
  ) {
    self.handle = handle
    self.input = input
    self.metadata = metadata
  }
}

/// A user's reaction to a question.
public enum RespondInput: Sendable, Equatable {
  case answers(ChallengeAnswers)
  /// Waits until the user has acted elsewhere. If the question needs an answer here, it comes back
  /// at once.
  case wait(Duration)
  /// Ends the sign-in.
  case cancel
}

extension ProtocolError {
  /// The answer for every handle that is not the caller's own, so that no caller learns which
  /// handles exist.
  public static let unknownChallenge = ProtocolError(
    .unknownChallenge, "there is no such challenge of yours, or it has ended: sign in again")
}

extension RespondRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    guard let text = try object.text("handle") else {
      throw .invalid(#""respond" needs the "handle" of a challenge"#)
    }
    let given = ["answers", "wait", "cancel"].filter { object[$0] != nil }
    guard given.count == 1 else {
      throw .invalid(#""respond" takes one of "answers", "wait" and "cancel""#)
    }
    let input: RespondInput
    if let answers = object["answers"] {
      input = .answers(try ChallengeAnswers(answers, in: object))
    } else if let wait = try object.seconds("wait", upTo: Limits.Line.longestWaitSeconds) {
      input = .wait(wait)
    } else {
      guard try object.flag("cancel") else { throw .invalid("\"cancel\" must be true") }
      input = .cancel
    }
    let metadata = try object.metadata("client_metadata")
    guard let handle = ChallengeHandle(text) else { throw .unknownChallenge }
    self.init(handle, input, metadata: metadata)
  }
}

extension ChallengeAnswers {
  fileprivate init(_ value: JSONValue, in object: RequestObject) throws(ProtocolError) {
    guard case .object(let members) = value, members.count <= Limits.Challenge.answers else {
      throw .invalid(
        "\"answers\" must be an object of at most \(Limits.Challenge.answers) names and texts")
    }
    var texts: [NamedSecret] = []
    var attributes: [NamedSecret]?
    for member in members {
      if member.isNamed("attributes") {
        attributes = try RequestObject.attributes(
          member.value, upTo: Limits.UserPool.attributeBytes)
        continue
      }
      if member.isNamed("confirm"), let word = member.value.bool {
        texts.append(NamedSecret(name: member.key, value: Secret(word ? "true" : "false")))
        continue
      }
      guard let text = member.value.secret else {
        throw .invalid(
          "answer \(member.key.quoted) at byte \(member.keyOffset) must be a string")
      }
      texts.append(NamedSecret(name: member.key, value: text))
    }
    self.init(texts, attributes: attributes)
  }
}

extension RequestObject {
  /// `client_metadata` and `validation_data`: texts by names; nil if there is none.
  func metadata(_ key: String) throws(ProtocolError) -> ClientMetadata? {
    guard let value = self[key] else { return nil }
    guard case .object(let members) = value else {
      throw .invalid("\"\(key)\" must be an object of names and texts")
    }
    var entries: [(name: String, value: Secret)] = []
    for member in members {
      guard let text = member.value.secret else {
        throw .invalid(
          "\"\(key)\": \(member.key.quoted) at byte \(member.keyOffset) must be a string")
      }
      entries.append((member.key, text))
    }
    do throws(InvalidInput) {
      return try ClientMetadata(entries)
    } catch {
      throw .invalid("\"\(key)\" \(error.reason)")
    }
  }
}

extension RequestObject {
  /// `client_metadata` and `validation_data` of a request that begins something.
  func triggerTexts() throws(ProtocolError) -> (ClientMetadata?, ClientMetadata?) {
    let (metadata, validationData) = (
      try metadata("client_metadata"), try metadata("validation_data")
    )
    // A user pool may get both in one member.
    let entries = [metadata, validationData].compactMap(\.self).flatMap(\.entries)
    guard (try? ClientMetadata(entries)) != nil else {
      throw .invalid(
        #""client_metadata" and "validation_data" must not have a name in common, and at most "#
          + "\(Limits.UserPool.metadataEntries) texts together")
    }
    return (metadata, validationData)
  }
}

// MARK: Replies

extension RenderedReply {
  /// The reply to `login` and `respond` while the sign-in waits for an answer.
  ///
  /// - Parameter remaining: the time for the answer.
  public static func challenge(
    _ challenge: SignInChallenge, _ handle: ChallengeHandle, profile: String,
    state: ReportedState, remaining: Duration
  ) -> RenderedReply {
    RenderedReply(capacity: 1024) { writer in
      writer.field("Profile", profile)
      writer.field("State", state.rawValue)
      writer.field("Challenge") { writer in
        writer.field("Handle", handle.text)
        writer.field("Step", challenge.step.name)
        writer.field("Name", challenge.name)
        writer.field("Parameters") { challenge.step.appendParameters(to: &$0) }
        writer.field("Answers", challenge.step.answers)
        writer.field("Optional", challenge.step.optional)
        writer.field("ExpiresIn", max(remaining, .zero).components.seconds)
      }
    }
  }
}

extension SignInStep {
  fileprivate func appendParameters(to writer: inout JSONWriter) {
    switch self {
    case .code(let medium, let destination):
      writer.field("Medium", medium.rawValue)
      writer.field("Destination", destination)
    case .newPassword(let required, let attributes):
      writer.field("Required", required)
      writer.field("Attributes") { $0.texts(attributes) }
    case .select(let choices): writer.field("Choices", choices)
    case .password: break
    case .totpSetup(let secret, let uri):
      writer.field("Secret", secret)
      writer.field("Uri", uri)
    case .custom(let parameters): writer.texts(parameters)
    case .browser(let url, let redirectURI, let state):
      writer.field("Url", url)
      writer.field("RedirectUri", redirectURI)
      writer.field("State", state)
    case .device(let userCode, let url, let completeURL, let interval):
      writer.field("UserCode", userCode)
      writer.field("Url", url)
      writer.field("CompleteUrl", completeURL)
      writer.field("Interval", interval.components.seconds)
    case .confirm(let issuer, let subject, let username, let replaces, let linksTo):
      writer.field("Issuer", issuer)
      writer.field("Subject", subject)
      writer.field("Username", username)
      writer.field("Replaces", replaces)
      writer.field("LinksTo", linksTo)
    }
  }
}

extension JSONWriter {
  fileprivate mutating func texts(_ texts: [NamedSecret]) {
    for text in texts { field(text.name, text.value) }
  }
}
