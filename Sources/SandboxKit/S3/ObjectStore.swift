/// Objects of S3, so that a test sees what credentials may do.
struct ObjectStore: Sendable {
  static let maximumObjects = 1024
  static let maximumBuckets = 64

  /// By bucket and key, `BUCKET/KEY`.
  private var objects: [String: [UInt8]] = [:]
  /// Accounts, by bucket. Every other bucket belongs to the sandbox's account.
  private var owners: [String: String] = [:]

  func owner(of bucket: String) -> String { owners[bucket] ?? SandboxSeed.account }

  /// False where there are too many.
  mutating func setOwner(of bucket: String, _ account: String) -> Bool {
    guard owners[bucket] != nil || owners.count < ObjectStore.maximumBuckets else { return false }
    owners[bucket] = account
    return true
  }

  subscript(bucket: String, key: String) -> [UInt8]? { objects[bucket + "/" + key] }

  /// False where there are too many.
  mutating func store(_ content: [UInt8], in bucket: String, as key: String) -> Bool {
    let name = bucket + "/" + key
    guard objects[name] != nil || objects.count < ObjectStore.maximumObjects else { return false }
    objects[name] = content
    return true
  }

  /// The keys of a bucket that begin so, in their order, with the sizes of the objects.
  func keys(of bucket: String, prefix: String) -> [(key: String, size: Int)] {
    let start = bucket + "/"
    return objects.filter { $0.key.hasPrefix(start + prefix) }
      .map { (String($0.key.dropFirst(start.count)), $0.value.count) }
      .sorted { $0.key < $1.key }
  }
}
