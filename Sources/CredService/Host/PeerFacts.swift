package import CredCore

/// The kernel's facts about a client.
package protocol PeerFacts: AnyObject {
  /// Who connected.
  var peer: Peer { get }
  /// Primary and supplementary groups at `connect`.
  func groups() -> [UInt32]
  /// The peer's present systemd unit; nil if the peer has none, or if the unit is uncertain.
  func unit() -> String?
  /// Whether the kernel lets credd see no unit of the peer, which may have one.
  var isUnitHidden: Bool { get }
  /// Whether the process that connected still lives.
  func isAlive() -> Bool
  /// When the present process of the peer's pid began; nil if it belongs to another user.
  func startTime() -> Instant?
}

extension PeerFacts {
  package var isUnitHidden: Bool { false }
}
