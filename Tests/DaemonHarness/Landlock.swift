import CCallers

enum Landlock {
  /// The version that the kernel has; less than 1 where it has none.
  static let version = Int(ccallers_landlock_version())
}
