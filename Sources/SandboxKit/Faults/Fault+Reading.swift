extension Fault {
  /// Reads the body of `POST /control/fault`.
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let serviceName = try fields.text("Service")
    guard let service = Service(rawValue: serviceName) else {
      throw fields.fault(
        "Service", "must be one of " + Service.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let kindName = try fields.text("Kind")
    guard let kind = Kind(rawValue: kindName) else {
      throw fields.fault(
        "Kind", "must be one of " + Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    self.init(service: service, kind: kind)
    operation = try fields.optionalText("Operation")
    let count = try fields.integer("Count", in: -1...1_000_000) ?? 1
    guard count != 0 else { throw fields.fault("Count", "must not be 0") }
    self.count = count < 0 ? nil : count
    let day = 86_400.0
    seconds = try fields.number("Seconds", in: -10 * day...10 * day) ?? 0
    guard kind == .dateSkew || seconds >= 0 else {
      throw fields.fault("Seconds", "must not be negative")
    }
    status = try fields.integer("Status", in: 200...599)
    body = try fields.optionalText("Body")
    error = try fields.optionalText("Error")
    message = try fields.optionalText("Message")
    retryAfter = try fields.textOrInteger("RetryAfter")
    location = try fields.optionalText("Location")
    try fields.finish()
  }
}
