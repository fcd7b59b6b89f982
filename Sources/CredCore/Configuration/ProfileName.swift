public enum ProfileName {
  /// The profile of a request that names none.
  public static let `default` = "default"
}
