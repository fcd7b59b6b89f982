/// ClientMetadata: data that a client passes to the pool's triggers.
public struct ClientMetadata: Sendable, Equatable {
  public let entries: [(name: String, value: Secret)]

  public init() { entries = [] }

  /// - Throws: if there are too many entries, or one of them is too large or named twice.
  public init(_ entries: [(name: String, value: Secret)]) throws(InvalidInput) {
    guard entries.count <= Limits.UserPool.metadataEntries,
      Set(entries.map(\.name)).count == entries.count,
      entries.allSatisfy({
        !$0.name.isEmpty && $0.name.utf8.count + $0.value.count <= Limits.UserPool.answerBytes
      })
    else {
      throw InvalidInput(
        field: "client_metadata",
        reason: "has more than \(Limits.UserPool.metadataEntries) texts, or one twice or too long")
    }
    self.entries = entries
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] { entries.map(\.value) }

  public static func == (one: ClientMetadata, other: ClientMetadata) -> Bool {
    one.entries.elementsEqual(other.entries) { $0 == $1 }
  }
}
