import FoundationEssentials
import SeededRandom

/// What a pool that tracks sessions knows of one (SessionDescriptionType of the service model).
struct TrackedRecord: Sendable {
  /// `tkn` or `sso`, and 25 letters and digits.
  let id: String
  let client: String
  let created: Date
  var lastActive: Date
  /// User-Agent. Cognito parses it.
  var agent: String
  /// The SSO session through which a token session came.
  var origin: String?

  mutating func touch(at now: Date, by agent: String) { (lastActive, self.agent) = (now, agent) }

  fileprivate func json(isCurrent: Bool) -> JSON {
    var json: [String: JSON] = [
      "SessionId": .string(id), "SessionType": id.hasPrefix("sso") ? "SSO" : "TOKEN",
      "ClientId": .string(client), "CreateDate": .timestamp(created.timeIntervalSince1970),
      "LastActiveDate": .timestamp(lastActive.timeIntervalSince1970),
      "DeviceType": .string(String(agent.prefix(1024))), "LastIPAddress": "127.0.0.1",
      "LastLocation": ["City": "Sandbox", "Country": "unknown"],
      "IsCurrentSession": .bool(isCurrent),
    ]
    json["OriginSessionId"] = origin.map { .string($0) }
    return .object(json)
  }
}

/// The session of a browser at the Hosted UI.
struct SSOSession: Sendable {
  let username: String
  var record: TrackedRecord
}

/// New sessions.
extension UserPool {
  /// The session of a sign-in that has succeeded. Where the pool tracks sessions, the user's least
  /// recently used ones make room for it.
  mutating func openSession(
    of username: String, at client: AppClient, began: Date, deviceKey: String? = nil,
    through sso: String? = nil
  ) -> PoolSession {
    var session = PoolSession(
      id: random.uuid(), client: client.id, username: username, deviceKey: deviceKey, began: began,
      expiration: now.addingTimeInterval(Double(client.refreshTokenLifetime)))
    if settings.tracksSessions {
      var active = tracked(of: username).sorted { $0.record.lastActive < $1.record.lastActive }
      while active.count >= settings.maximumSessionsPerUser {
        sessions.revoke(active.removeFirst().session.id)
      }
      session.record = record("tkn", client.id, through: sso)
    }
    sessions.store(session)
    return session
  }

  private mutating func record(
    _ prefix: String, _ client: String, through sso: String? = nil
  ) -> TrackedRecord {
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    return TrackedRecord(
      id: prefix + random.text(25, of: letters), client: client, created: now, lastActive: now,
      agent: agent, origin: sso)
  }

  /// The token sessions of a user that have not ended, in the order of their sign-ins.
  private func tracked(of username: String) -> [(session: PoolSession, record: TrackedRecord)] {
    sessions.active(of: username, at: now).compactMap { session in
      session.record.map { (session, $0) }
    }
  }

  /// The SSO session of the browser that signs in as a user now; nil where sessions are not tracked.
  mutating func browserSession(of username: String, at client: AppClient) -> String? {
    guard settings.tracksSessions, hosted.signedInAs != nil else { return nil }
    if let id = hosted.browser, hosted.sso[id]?.username == username {
      hosted.sso[id]?.record.touch(at: now, by: agent)
      return id
    }
    let record = record("sso", client.id)
    hosted.sso[record.id] = SSOSession(username: username, record: record)
    hosted.browser = record.id
    return record.id
  }

  /// Ends an SSO session: its browser asks at the next sign-in.
  mutating func endSSO(_ id: String) {
    hosted.sso[id] = nil
    if hosted.browser == id { (hosted.browser, hosted.signedInAs) = (nil, nil) }
  }

  /// Signs the browser out.
  mutating func endBrowserSession() {
    if let id = hosted.browser { endSSO(id) }
    hosted.signedInAs = nil
  }
}

/// ListUserSessions, RevokeUserSession and RevokeAssociatedSessions.
extension UserPool {
  func listSessions(
    _ input: CognitoInput, of holder: PoolUser, _ own: PoolSession
  ) throws(ServiceError) -> JSON {
    var input = input
    let token = try input.optionalText("NextToken", .poolPage)
    try input.finish()
    guard settings.tracksSessions else { throw .notEnabled }
    let all =
      tracked(of: holder.username).map(\.record)
      + browserSessions(of: holder.username).map(\.record)
    var start = 0
    if let token {
      guard let number = Int(token), (1..<all.count).contains(number) else {
        throw .poolInvalid("Invalid NextToken.")
      }
      start = number
    }
    let page = all.dropFirst(start).prefix(settings.sessionsPerPage)
    var reply: [String: JSON] = [
      "Sessions": .array(page.map { $0.json(isCurrent: $0.id == own.record?.id) })
    ]
    if page.endIndex < all.count { reply["NextToken"] = .string(String(page.endIndex)) }
    return .object(reply)
  }

  private func browserSessions(of username: String) -> [SSOSession] {
    hosted.sso.values.filter { $0.username == username }
      .sorted { ($0.record.created, $0.record.id) < ($1.record.created, $1.record.id) }
  }

  mutating func revokeSession(
    _ input: CognitoInput, of holder: PoolUser, _ own: PoolSession
  ) throws(ServiceError) -> JSON {
    var input = input
    let id = try input.text("SessionId", .sessionID)
    let isLinked = try input.associatedSessions()
    try input.finish()
    guard settings.tracksSessions else { throw .notEnabled }
    guard id != own.record?.id else { throw .ownSession }
    if let (session, record) = tracked(of: holder.username).first(where: { $0.record.id == id }) {
      sessions.revoke(session.id)
      if isLinked { endOrigin(of: record) }
    } else if hosted.sso[id]?.username == holder.username {
      endSSO(id)
      guard isLinked else { return [:] }
      for (session, record) in tracked(of: holder.username) where record.origin == id {
        sessions.revoke(session.id)
      }
    } else {
      throw .unknownSession
    }
    return [:]
  }

  /// RevokeAssociatedSessions of a token session: without effect where there is no SSO session.
  mutating func endOrigin(of record: TrackedRecord?) {
    if settings.tracksSessions, let origin = record?.origin { endSSO(origin) }
  }
}

extension CognitoInput {
  /// RevokeAssociatedSessions: whether it is LINKED.
  mutating func associatedSessions() throws(ServiceError) -> Bool {
    let name = "RevokeAssociatedSessions"
    guard let text = try optionalText(name, .anyText) else { return false }
    if !["NONE", "LINKED"].contains(text) {
      report(
        "Value '\(text)' at '\(member(name))' failed to satisfy constraint: "
          + "Member must satisfy enum value set: [NONE, LINKED]")
    }
    return text == "LINKED"
  }
}
