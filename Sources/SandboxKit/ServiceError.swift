/// An error as a service answers it: AWS's code and words.
public struct ServiceError: Error, Equatable {
  /// HTTP status.
  public var status: Int
  /// AWS's error code, as NotAuthorizedException.
  public var code: String
  public var message: String

  public init(status: Int = 400, _ code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }
}
