/// The version of credd and credctl. The Makefile reads it for the manuals and the package.
public enum Version {
  public static let current = "0.1.0"
}
