/// Names that the system itself gives to uids of containers and user namespaces: `vu-MACHINE-UID` by
/// nss-mymachines(8), `ns-NAME-UID` by systemd-nsresourced(8), from which any user may get 65,536
/// uids. No person has such a name, so limits of one user do not count by these names.
public enum SyntheticName {
  public static func isOne(_ name: String) -> Bool {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 3, let kind = parts.first, let number = parts.last else { return false }
    return ["ns", "vu"].contains(kind) && parts[1...].allSatisfy { !$0.isEmpty }
      && number.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
