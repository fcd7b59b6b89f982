extension Profile {
  /// The regions that its configuration names: its own, and those of its backend, of its linked one and of
  /// its source.
  public var namedRegions: [NamedRegion] {
    var named = kind.regions
    if let userPool {
      if let region = try? UserPoolID(userPool.userPoolID).region {
        named.append(NamedRegion(region: region, key: "user_pool_id"))
      }
      if let region = userPool.replicaRegion {
        named.append(NamedRegion(region: region, key: "replica_region"))
      }
    }
    return named + (link?.namedRegions ?? []) + (source?.namedRegions ?? [])
  }
}
