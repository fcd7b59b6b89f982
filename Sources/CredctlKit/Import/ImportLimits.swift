internal import CredCore

/// The bounds of a file to be imported.
public enum ImportLimits {
  /// Bytes: an `amplify_outputs.json` with the model of a large API takes some hundred thousand.
  public static let fileBytes = 4 << 20
  /// Identity pools of one file: an app has one, seldom two.
  static let pools = 100
  static let json = JSONLimits(depth: 64, values: 200_000)
}
