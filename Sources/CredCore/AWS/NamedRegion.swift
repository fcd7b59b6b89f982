/// A region in a profile's configuration, with the key that names it.
public struct NamedRegion: Sendable, Hashable {
  public let region: String
  public let key: String
}
