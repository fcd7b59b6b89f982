internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// The IdentityIds in the state directory, which outlive a reboot.
///
/// A thread writes them some time after a change, because disks may hang. If that fails, they stay
/// in memory, and credd tries again.
final class IdentityFile {
  static let name = "identities"
  /// An unreadable file is renamed to this.
  static let damagedName = "identities.damaged"
  /// The least time from a change to its writing; several changes are written together.
  static let delay: Duration = .seconds(1)
  /// An additional delay for each identity, so that a large file is not written all the time.
  static let delayForEach: Duration = .microseconds(100)
  /// The pause from a failure to the next attempt.
  static let pause: Duration = .seconds(60)
  /// How long the end of the daemon waits for the disk.
  static let finalWaitMilliseconds: Int32 = 2000
  /// If the disk takes longer, writing has failed; its thread goes on.
  static let timeout: Duration = .seconds(30)

  private let folder: String
  private let clock: any Clock
  private let background: ThreadBackground
  private let log: Logger
  private var timer: (any Timer)?
  private var lines: [SessionKey: [UInt8]] = [:]
  /// Whether the file is out of date.
  private var isDirty = false
  private var isArmed = false
  private var isSaving = false
  /// Why the last attempt failed; nil if it succeeded.
  private(set) var failure: String?

  /// - Parameter folder: the state directory. The file in it is read at once.
  init(in folder: String, clock: any Clock, background: ThreadBackground, log: Logger) {
    self.folder = folder
    self.clock = clock
    self.background = background
    self.log = log
    timer = clock.makeTimer { [unowned self] in
      self.isArmed = false
      self.save()
    }
    read()
  }

  /// The known identity of a session.
  func identity(_ key: SessionKey) -> KnownIdentity? {
    lines[key].flatMap { KnownIdentity(line: $0[...]) }
  }

  /// Records a session's identity; nil if it has none.
  func record(_ identity: KnownIdentity?, for key: SessionKey) {
    let line = identity?.line
    guard lines[key] != line else { return }
    // There are at most as many lines as there can be sessions. A further identity becomes known
    // again at its next sign-in.
    guard line == nil || lines[key] != nil || lines.count < Limits.Session.most else { return }
    lines[key] = line
    change()
  }

  private func change() {
    isDirty = true
    if failure == nil { arm(Self.delay + Self.delayForEach * lines.count) }
  }

  private func arm(_ delay: Duration) {
    guard !isArmed, !isSaving else { return }
    isArmed = true
    timer?.arm(at: clock.now + delay)
  }

  // MARK: Reading

  private func read() {
    let path = "\(folder)/\(Self.name)"
    var content: UnsafeMutablePointer<CChar>?
    var count = 0
    let result = unsafe credd_read_file(path, Limits.Store.identityFileBytes, &content, &count)
    guard result != -ENOENT else { return }
    guard result >= 0, let bytes = unsafe content else {
      return setAside(path, because: SystemError("read it", number: -result).description)
    }
    defer { unsafe free(bytes) }
    let text = unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    let found = IdentityFileText.read(text)
    for identity in found.identities {
      lines[SessionKey(uid: identity.uid, profile: identity.profile)] = identity.line
    }
    if let damage = found.damage {
      setAside(path, because: damage)
      change()
    }
  }

  private func setAside(_ path: String, because damage: String) {
    let aside = "\(folder)/\(Self.damagedName)"
    let isAside = unsafe rename(path, aside) == 0
    log.warning(
      "the file of IdentityIds is damaged: \(damage)",
      metadata: [
        "file": "\(path)", "kept": "\(isAside ? aside : "no")", "identities": "\(lines.count)",
      ])
  }

  // MARK: Writing

  private func save() {
    guard isDirty, !isSaving else { return }
    isDirty = false
    isSaving = true
    let (folder, text) = (folder, IdentityFileText.write(lines.values))
    background.run(.state, deadline: clock.now + Self.timeout) {
      unsafe text.withUnsafeBytes {
        unsafe credd_replace_file(folder, Self.name, $0.baseAddress, $0.count)
      }
    } completion: { [weak self] outcome in
      self?.finish(outcome)
    }
  }

  private func finish(_ outcome: BackgroundOutcome<Int32>) {
    switch outcome {
    case .finished(let result):
      isSaving = false
      guard result == 0 else {
        return fail(SystemError("write \(folder)/\(Self.name)", number: -result))
      }
      if failure != nil { log.notice("IdentityIds are on disk again") }
      failure = nil
      if isDirty { change() }
    case .overdue(let isRunning):
      isSaving = isRunning
      fail(SystemError("write \(folder)/\(Self.name)", number: ETIMEDOUT))
    }
  }

  /// Logged once, however often writing fails.
  private func fail(_ error: SystemError) {
    isDirty = true
    if failure == nil {
      log.log(
        .stateUnwritable, .warning,
        """
        IdentityIds are kept in memory alone and would be lost at a reboot: \(error); check the \
        unit's StateDirectory=
        """)
    }
    failure = error.description
    arm(Self.pause)
  }

  /// Writes pending changes at the end of the daemon; waits a moment for the disk.
  func finish() {
    for _ in 0..<2 where isDirty || isSaving {
      save()
      background.finish(.state, atMost: Self.finalWaitMilliseconds)
    }
  }
}
