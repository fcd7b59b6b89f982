/// What a profile may be called: `[A-Za-z0-9._-]{1,64}`.
public enum ProfileName {
  /// What a request means that names no profile.
  public static let `default` = "default"

  public static func isWellFormed(_ name: String) -> Bool {
    (1...Limits.profileNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
