/// What `type` in a `[backend NAME]` section says: the protocol of the token callback.
public enum BackendType: String, Sendable, CaseIterable {
  case http
  case exec
  case cognito
  case awsSample = "aws-sample"
}
