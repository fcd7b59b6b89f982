/// The version of credd and credctl. CHANGELOG.md has the same one: see scripts/version.
public enum Version {
  public static let current = "0.2.0"
}
