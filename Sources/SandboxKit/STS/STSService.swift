import FoundationEssentials

/// AWS STS (2011-06-15), AssumeRoleWithWebIdentity alone.
enum STSService {
  static let version = "2011-06-15"
  static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
  static let operation = "AssumeRoleWithWebIdentity"

  /// - Parameter fault: one of the kinds in which the service itself does wrong.
  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    let requestID = state.random.uuid()
    do throws(ServiceError) {
      switch fault {
      case .expiredToken:
        throw SandboxState.expired(now: now.epochSeconds, expiry: now.epochSeconds - 60)
      case .wrongPool, .changedIdentity: throw SandboxState.denied
      default: break
      }
      let form = FormParameters(of: request)
      guard form["Action"] == operation, form["Version"] == version else {
        throw ServiceError(
          "InvalidAction",
          "Could not find operation \(form["Action"] ?? "") for version \(form["Version"] ?? "")")
      }
      let call = try RoleAssumption(form)
      let result = try state.assumeRole(call, at: now)
      let reply = XMLElement(
        "AssumeRoleWithWebIdentityResponse", namespace: namespace,
        [
          XMLElement("AssumeRoleWithWebIdentityResult", result),
          XMLElement("ResponseMetadata", [XMLElement("RequestId", requestID)]),
        ])
      return xml(reply, status: 200, requestID: requestID)
    } catch {
      return self.reply(with: error, requestID: requestID)
    }
  }

  static func reply(with error: ServiceError, requestID: String) -> HTTPReply {
    let reply = XMLElement(
      "ErrorResponse", namespace: namespace,
      [
        XMLElement(
          "Error",
          [
            XMLElement("Type", error.status < 500 ? "Sender" : "Receiver"),
            XMLElement("Code", error.code), XMLElement("Message", error.message),
          ]), XMLElement("RequestId", requestID),
      ])
    return xml(reply, status: error.status, requestID: requestID)
  }

  private static func xml(_ element: XMLElement, status: Int, requestID: String) -> HTTPReply {
    HTTPReply(
      status: status,
      headers: [
        HTTPField("Content-Type", "text/xml"), HTTPField("x-amzn-RequestId", requestID),
      ], body: Array(element.text().utf8))
  }
}
