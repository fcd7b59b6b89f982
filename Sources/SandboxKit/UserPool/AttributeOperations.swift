import FoundationEssentials

/// GetUser, and the operations of users on their attributes.
extension UserPool {
  func getUser(_ holder: PoolUser) -> JSON {
    var reply = factorSettings(of: holder)
    reply["Username"] = .string(holder.username)
    reply["UserAttributes"] = holder.attributeList
    return .object(reply)
  }

  mutating func updateAttributes(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    guard let given = try input.attributes("UserAttributes") else {
      input.reportMissing("UserAttributes")
      try input.check()
      return [:]
    }
    _ = try input.parameters("ClientMetadata")
    try input.finish()
    try PoolAttributes.check(given, in: settings)
    for (name, value) in given where settings.signInAttributes.contains(name) && !value.isEmpty {
      if let other = owner(of: name, value), other.username != holder.username {
        throw ServiceError(
          "AliasExistsException", "An account with the given \(name) already exists.")
      }
    }
    if let required = given.first(where: {
      $0.value.isEmpty && settings.requiredAttributes.contains($0.name)
    }) {
      throw .poolInvalid("Required attribute \(required.name) cannot be deleted.")
    }
    var deliveries: [JSON] = []
    for (name, value) in given {
      let isSent = settings.autoVerifiedAttributes.contains(name) && !value.isEmpty
      let waits = isSent && settings.verifiesBeforeUpdate
      try change(holder.username) { user throws(ServiceError) in
        if waits { user.pendingAttributes[name] = value } else { user.set(name, value) }
      }
      if isSent, holder.attributes[name] != value {
        deliveries.append(
          try sendCode(
            to: holder.username, attribute: name, address: value, purpose: .attribute(name)))
      }
    }
    return ["CodeDeliveryDetailsList": .array(deliveries)]
  }

  mutating func deleteAttributes(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let names = try input.texts("UserAttributeNames", .attributeName)
    try input.finish()
    try PoolAttributes.check(names.map { ($0, "") }, in: settings)
    if let required = names.first(where: settings.requiredAttributes.contains) {
      throw .poolInvalid("Required attribute \(required) cannot be deleted.")
    }
    try change(holder.username) { user throws(ServiceError) in
      for name in names { user.set(name, "") }
    }
    return [:]
  }

  mutating func sendAttributeCode(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let name = try input.text("AttributeName", .attributeName)
    _ = try input.parameters("ClientMetadata")
    try input.finish()
    guard ["email", "phone_number"].contains(name) else {
      throw .poolInvalid("The attribute \(name) cannot be verified.")
    }
    guard let address = holder.pendingAttributes[name] ?? holder.attributes[name] else {
      throw .poolInvalid("User does not have attribute \(name).")
    }
    let delivery = try sendCode(
      to: holder.username, attribute: name, address: address, purpose: .attribute(name))
    return ["CodeDeliveryDetails": delivery]
  }

  mutating func verifyAttribute(
    _ input: CognitoInput, of holder: PoolUser
  ) throws(ServiceError) -> JSON {
    var input = input
    let name = try input.text("AttributeName", .attributeName)
    let given = try input.text("Code", .confirmationCode)
    try input.finish()
    let code = try takeCode(given, of: holder.username, purpose: .attribute(name))
    try claim(name, code.address, for: holder, byForce: false)
    try change(holder.username) { user throws(ServiceError) in
      if user.pendingAttributes[name] == code.address {
        user.pendingAttributes[name] = nil
        user.set(name, code.address)
      }
      // A code that was sent to an earlier address does not prove the present one.
      guard user.attributes[name] == code.address else { throw .expiredCode }
      user.attributes[name + "_verified"] = "true"
    }
    return [:]
  }

  mutating func deleteUser(_ holder: PoolUser) -> JSON? {
    remove(holder.username)
    return nil
  }
}
