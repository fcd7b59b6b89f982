/// Lets the first of equal notices through and counts the rest, so that a loop somewhere on the
/// host cannot fill the journal.
public struct RepeatLimiter: Sendable {
  /// What makes two notices equal.
  public struct Subject: Hashable, Sendable {
    public let event: String
    public let profile: String
    public let uid: UInt32
    /// What else tells them apart: an error's code, a unit.
    public let detail: String

    public init(event: String, profile: String, uid: UInt32, detail: String = "") {
      self.event = event
      self.profile = profile
      self.uid = uid
      self.detail = detail
    }
  }

  private struct Window {
    let end: Instant
    var passed = 1
    var suppressed = 0
  }

  /// How long equal notices count together.
  static let window: Duration = .seconds(60)
  /// Subjects remembered; with more at once, the oldest windows are forgotten.
  static let subjects = 4096

  private let burst: Int
  private var windows: [Subject: Window] = [:]

  /// - Parameter burst: how many of a window pass.
  public init(burst: Int) {
    self.burst = burst
  }

  /// Whether to say it: nil if not, else how many like it were kept back since the last one.
  public mutating func admit(_ subject: Subject, now: Instant) -> Int? {
    guard let known = windows[subject], known.end > now else {
      let suppressed = windows[subject]?.suppressed ?? 0
      makeRoom(now)
      windows[subject] = Window(end: now + Self.window)
      return suppressed
    }
    if known.passed < burst {
      windows[subject]?.passed += 1
      return 0
    }
    windows[subject]?.suppressed += 1
    return nil
  }

  private mutating func makeRoom(_ now: Instant) {
    guard windows.count >= Self.subjects else { return }
    windows = windows.filter { $0.value.end > now }
    // A flood of different subjects: what is forgotten may be said once more.
    if windows.count >= Self.subjects { windows.removeAll() }
  }
}
