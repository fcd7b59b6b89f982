internal import CLinux
internal import CredCore
internal import Glibc
internal import Logging

/// The IdentityIds in the state directory, which outlive a reboot.
///
/// They are written some time after a change, by a thread, because disks may hang. Where they cannot
/// be written they are kept in memory, and tried again.
@safe final class IdentityFile {
  static let name = "identities"
  /// What could not be read is kept aside under this name.
  static let damagedName = "identities.damaged"
  /// From a change to its being written, at least; several changes are written together.
  static let delay: Duration = .seconds(1)
  /// The same for each identity in the file, so that a large one is not written all the time.
  static let delayForEach: Duration = .microseconds(100)
  /// From a failure to the next attempt.
  static let pause: Duration = .seconds(60)
  /// How long the end of the daemon waits for the disk.
  static let farewellMilliseconds: Int32 = 2000

  private let folder: String
  private let loop: EventLoop
  private let log: Logger
  private let wake: Int32
  private var wakeSource: EventSource?
  private var timer: EventSource?
  private var lines: [Session.Key: [UInt8]] = [:]
  /// Something is not in the file.
  private var isDirty = false
  private var isArmed = false
  private var saving: OpaquePointer?
  /// Why the last attempt failed; nil where it did not.
  private(set) var failure: String?

  /// - Parameter folder: the state directory; what is in it is read at once.
  init(in folder: String, loop: EventLoop, log: Logger) throws(SystemError) {
    self.folder = folder
    self.loop = loop
    self.log = log
    wake = try SystemError.check(credd_eventfd(), "create an eventfd")
    wakeSource = try loop.watch(wake, for: CREDD_EPOLL_IN) { [unowned self] _ in self.collect() }
    timer = try loop.timer { [unowned self] _ in
      self.isArmed = false
      self.save()
    }
    read()
  }

  deinit {
    if let saving = unsafe saving { unsafe credd_save_release(saving) }
    wakeSource = nil
    credd_close(wake)
  }

  /// What is known of a session.
  func identity(_ key: Session.Key) -> KnownIdentity? {
    lines[key].flatMap { KnownIdentity(line: $0[...]) }
  }

  /// Notes a session's identity, or that it has none.
  func note(_ identity: KnownIdentity?, for key: Session.Key) {
    let line = identity?.line
    guard lines[key] != line else { return }
    // As many as there can be sessions: another is known again after its next sign-in.
    guard line == nil || lines[key] != nil || lines.count < Limits.sessions else { return }
    lines[key] = line
    change()
  }

  private func change() {
    isDirty = true
    if failure == nil { arm(Self.delay + Self.delayForEach * lines.count) }
  }

  private func arm(_ delay: Duration) {
    guard !isArmed, unsafe saving == nil else { return }
    isArmed = true
    timer?.arm(at: loop.now + delay)
  }

  // MARK: Reading

  private func read() {
    let path = "\(folder)/\(Self.name)"
    var content: UnsafeMutablePointer<CChar>?
    var count = 0
    let result = unsafe credd_read_file(path, Limits.identityFileBytes, &content, &count)
    guard result != -ENOENT else { return }
    guard result >= 0, let bytes = unsafe content else {
      return setAside(path, because: SystemError("read it", number: -result).description)
    }
    defer { unsafe free(bytes) }
    let text = unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    let found = IdentityFileText.read(text)
    for identity in found.identities {
      lines[Session.Key(uid: identity.uid, profile: identity.profile)] = identity.line
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
    guard isDirty, unsafe saving == nil else { return }
    let text = IdentityFileText.write(lines.values)
    let started = unsafe text.withUnsafeBytes {
      unsafe credd_save_start(folder, Self.name, $0.baseAddress, $0.count, wake)
    }
    guard let started = unsafe started else {
      return fail(SystemError("start a thread", number: EAGAIN))
    }
    isDirty = false
    unsafe saving = started
  }

  /// A thread is done.
  private func collect() {
    _ = credd_eventfd_drain(wake)
    guard let done = unsafe saving else { return }
    let result = unsafe credd_save_take(done)
    guard result != -EAGAIN else { return }
    unsafe credd_save_release(done)
    unsafe saving = nil
    guard result == 0 else {
      return fail(SystemError("write \(folder)/\(Self.name)", number: -result))
    }
    if failure != nil { log.notice("IdentityIds are on disk again") }
    failure = nil
    if isDirty { change() }
  }

  /// Said once, however often it is tried.
  private func fail(_ error: SystemError) {
    isDirty = true
    if failure == nil {
      log.log(
        .stateUnwritable, .warning, "IdentityIds are kept in memory alone: \(error)")
    }
    failure = error.description
    arm(Self.pause)
  }

  /// The daemon ends: writes what is not written yet, and waits a moment for the disk.
  func finish() {
    for _ in 0..<2 {
      if unsafe saving == nil { save() }
      guard unsafe saving != nil, credd_wait_readable(wake, Self.farewellMilliseconds) == 1 else {
        return
      }
      collect()
    }
  }
}
