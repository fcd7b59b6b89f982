internal import CLinux

/// Who hangs on the loop by descriptors of which there are thousands: each turn, all who are ready
/// are served, where a source of sd-event would take a turn each.
protocol Crowd: AnyObject {
  /// Serves those who are ready, and those who wait since the last turn, for a while. Tokens that it
  /// does not know, which are the loop's own, are passed over.
  func serve(_ ready: borrowing Span<credd_ready>)

  /// Somebody waits for the next turn, whether or not a descriptor is ready.
  var isWaiting: Bool { get }
}
