/// One line from a client, read.
public struct Request: Sendable, Equatable {
  public var id: RequestID?
  public var operation: Operation

  public init(id: RequestID? = nil, operation: Operation) {
    self.id = id
    self.operation = operation
  }

  /// Reads a line without its newline.
  ///
  /// `{}` asks for the credentials of the profile `default`. Keys that the operation does not have
  /// are refused, because a mistyped `min_ttl` that is ignored shows only when it hurts.
  ///
  /// - Throws: `InvalidRequest`, `UnknownOperation` or `UnknownProfile`. Positions are bytes from
  ///   the start of the line, counted from 0.
  public static func parse(_ line: [UInt8]) throws(RequestError) -> Request {
    let value: JSONValue
    do {
      value = try JSONValue.parse(line, limits: Limits.requestJSON)
    } catch {
      throw RequestError(
        ProtocolError(
          .invalidRequest, "line is not valid JSON at byte \(error.offset): \(error.message)"))
    }
    var id: RequestID?
    do throws(ProtocolError) {
      let object = try RequestObject(value)
      id = try object.id()
      return Request(id: id, operation: try Operation(object))
    } catch {
      throw RequestError(error, id: id)
    }
  }
}
