/// One HTTP reply. `Date` and `Content-Length` are added when it is sent.
public struct HTTPReply: Sendable, Equatable {
  public var status: Int
  public var headers: [HTTPField]
  public var body: [UInt8]

  public init(status: Int = 200, headers: [HTTPField] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public init(
    status: Int = 200, type: String = "application/json", headers: [HTTPField] = [], json: JSON
  ) {
    self.init(
      status: status, headers: [HTTPField("Content-Type", type)] + headers, body: json.bytes)
  }

  /// The first field of this name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The body read as JSON.
  public var json: JSON? { JSON(parsing: body) }
}
