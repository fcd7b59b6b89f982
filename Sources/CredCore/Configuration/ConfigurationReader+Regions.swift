/// Regions that are probably misspelt. Such a name becomes part of a host's name, and no server has it.
extension ConfigurationReader {
  /// Warns of a region that AWS is not known to have. AWS adds some each year, so it is no error. Where the
  /// configuration names the server itself, such as an emulator, the region is only a word for it.
  ///
  /// - Parameter endpoint: the key that names the server, if it is set.
  mutating func checkRegion(
    _ region: String, at key: String, unless endpoint: String, _ section: INISection
  ) {
    guard section[endpoint] == nil, !KnownRegions.contains(region) else { return }
    let advice =
      KnownRegions.suggestion(for: region).map { "; did you mean \($0.singleQuoted)?" }
      ?? ": check it, unless it is new"
    diagnostics.warning(
      at: section.position(of: key),
      "\(key): \(region.singleQuoted) is no region that AWS is known to have\(advice)")
  }

  /// The regions that a profile names itself.
  mutating func checkRegions(of draft: ProfileDraft, _ section: INISection) {
    if let pool = try? IdentityPoolID(draft.pool.id) {
      checkRegion(pool.region, at: "identity_pool_id", unless: "cognito_endpoint", section)
    }
    // In the direct flow, a word that cannot be a region is an error.
    guard let region = draft.region, draft.flow != .direct || AWSPartition.knows(region: region)
    else { return }
    checkRegion(region, at: "region", unless: "sts_endpoint", section)
  }
}
