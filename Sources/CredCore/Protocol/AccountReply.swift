extension RenderedReply {
  /// The reply to `account`.
  public static func account(profile: String, _ result: AccountResult) -> RenderedReply {
    RenderedReply(capacity: 1024) { writer in
      writer.field("Profile", profile)
      switch result {
      case .done: break
      case .signedOut: writer.field("State", ReportedState.signedOut.rawValue)
      case .signedUp(let result):
        writer.key("Confirmed")
        writer.bool(result.isConfirmed)
        writer.append(result.delivery)
      case .codeSent(let delivery, _): writer.append(delivery)
      case .user(let user): writer.append(user)
      case .softwareToken(let secret, let uri):
        writer.field("Secret", secret)
        writer.field("Uri", uri)
      case .devices(let page, let own): writer.append(page, own: own)
      case .sessions(let page): writer.append(page)
      }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func append(_ delivery: SignUpResult.Delivery?) {
    guard let delivery else { return }
    field("Delivery") { writer in
      writer.field("Medium", delivery.medium)
      writer.field("Destination", delivery.destination)
    }
  }

  fileprivate mutating func append(_ user: PoolUser) {
    field("Username", user.username)
    field("Attributes") { writer in
      for attribute in user.attributes { writer.field(attribute.name, attribute.value) }
    }
    field("Mfa") { writer in
      writer.field("Preferred", user.preferredMFA)
      writer.field("Enabled", user.enabledMFA)
    }
  }

  fileprivate mutating func append(_ page: PoolDevicePage, own: String?) {
    key("Devices")
    beginArray()
    for device in page.devices {
      beginObject()
      field("Device", device.key)
      field("Name", device.name)
      field("Created", device.created)
      field("LastUsed", device.lastUsed)
      field("LastAddress", device.lastAddress)
      key("This")
      bool(device.key == own)
      if let isRemembered = device.isRemembered {
        key("Remembered")
        bool(isRemembered)
      }
      endObject()
    }
    endArray()
    field("Next", page.next)
  }

  fileprivate mutating func append(_ page: TrackedSessionPage) {
    key("Sessions")
    beginArray()
    for session in page.sessions {
      beginObject()
      field("Session", session.id.text)
      field("Kind", session.id.kind.rawValue)
      field("Client", session.client)
      field("Created", session.created)
      field("LastUsed", session.lastUsed)
      field("LastAddress", session.lastAddress)
      field("Place", session.place)
      field("Device", session.device)
      key("This")
      bool(session.isThis)
      endObject()
    }
    endArray()
    field("Next", page.next)
  }
}
