internal import CLinux
internal import CredCore
internal import CredService

/// Looks at the files for TLS before each request that names them, and reports when a file has
/// changed.
///
/// libcurl identifies authorities, kept connections and TLS sessions by the names of files. So
/// without this, the old content of a file would count as long as the connection is kept. The old
/// content of an authority file would count for a day.
final class TLSFiles {
  /// The time for a look; only a disk or a file server that hangs takes longer.
  private static let timeout: Duration = .seconds(5)

  /// Identifies a file and its content. No process can set `changed`, the time of the last status
  /// change.
  private enum Version: Equatable, Sendable {
    case file(device: UInt64, inode: UInt64, size: Int64, changed: Int64)
    /// With the errno. The request reports the problem.
    case unreadable(Int32)

    /// Blocks: call it on a thread.
    init(of path: String) {
      var facts = credd_file_facts()
      let result = unsafe credd_file_facts_at(path, &facts)
      self =
        result < 0
        ? .unreadable(-result)
        : .file(
          device: facts.device, inode: facts.inode, size: facts.size, changed: facts.changed)
    }
  }

  /// Called with whether the file could be looked at in time.
  private typealias Completion = (Bool) -> Void

  /// At most one thread for each file, so that a dead file server does not take the threads for
  /// other files.
  private struct Look {
    /// Requests that asked before the look began.
    var waiting: [Completion]
    /// Requests that asked later. They need another look, because the file may have been replaced
    /// meanwhile.
    var next: [Completion] = []
  }

  private let clock: any Clock
  private let background: any Background
  private let changed: () -> Void
  private var known: [String: Version] = [:]
  private var looks: [String: Look] = [:]
  /// Files with a look that missed its deadline and goes on.
  private var hanging: Set<String> = []
  /// Requests for such files, which fail in the next iteration.
  private var refused: [Completion] = []
  private var timer: (any Timer)?

  /// - Parameter changed: called when a file has changed since the last look, before the request
  ///   that noticed it goes on.
  init(clock: any Clock, background: any Background, changed: @escaping () -> Void) {
    self.clock = clock
    self.background = background
    self.changed = changed
    timer = clock.makeTimer { [unowned self] in
      let due = refused
      refused = []
      for completion in due { completion(false) }
    }
  }

  /// Forgets all files, because a new configuration may name others.
  func forget() {
    known = [:]
  }

  /// Looks at the files, one after the other. The completion gets the first file that hangs, or
  /// nil. If there are any files, the completion comes later.
  func look(at paths: ArraySlice<String>, completion: @escaping (String?) -> Void) {
    guard let path = paths.first else { return completion(nil) }
    look(at: path) { [unowned self] answered in
      guard answered else { return completion(path) }
      look(at: paths.dropFirst(), completion: completion)
    }
  }

  private func look(at path: String, _ completion: @escaping Completion) {
    if hanging.contains(path) {
      refused.append(completion)
      timer?.arm(at: clock.now)
    } else if looks[path] != nil {
      looks[path]?.next.append(completion)
    } else {
      begin(path, for: [completion])
    }
  }

  private func begin(_ path: String, for waiting: [Completion]) {
    looks[path] = Look(waiting: waiting)
    background.run(.files, deadline: clock.now + Self.timeout) {
      Version(of: path)
    } completion: { [unowned self] outcome in
      finish(path, outcome)
    }
  }

  private func finish(_ path: String, _ outcome: BackgroundOutcome<Version>) {
    let look = looks.removeValue(forKey: path)
    switch outcome {
    case .finished(let version):
      hanging.remove(path)
      let before = known.updateValue(version, forKey: path)
      if let before, before != version { changed() }
      if let next = look?.next, !next.isEmpty { begin(path, for: next) }
      look?.waiting.forEach { $0(true) }
    case .overdue(let isRunning):
      if isRunning { hanging.insert(path) }
      for completion in (look?.waiting ?? []) + (look?.next ?? []) { completion(false) }
    }
  }
}
