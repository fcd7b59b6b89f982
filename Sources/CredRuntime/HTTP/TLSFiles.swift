internal import CLinux
internal import CredCore
internal import CredService

/// Looks at the files that TLS takes before each request that names them, and tells when one is
/// another than before.
///
/// libcurl knows authorities, kept connections and TLS sessions by the names of files. So what a file
/// said when a connection was made would count as long as that is kept, and an authority for a day.
final class TLSFiles {
  /// A look takes this long only if the disk or the file server hangs.
  private static let timeout: Duration = .seconds(5)

  /// Identifies a file and its content. No process can set the time of the last status
  /// change.
  private enum Version: Equatable, Sendable {
    case file(device: UInt64, inode: UInt64, size: Int64, changed: Int64)
    /// With the errno: the request says what is wrong.
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

  /// Gets whether the file answered.
  private typealias Completion = (Bool) -> Void

  /// One thread a file at most: a dead file server leaves the others to files that answer.
  private struct Look {
    /// Asked before it began.
    var waiting: [Completion]
    /// Asked since, who need another look: the file may have been replaced meanwhile.
    var next: [Completion] = []
  }

  private let clock: any Clock
  private let background: any Background
  private let changed: () -> Void
  private var known: [String: Version] = [:]
  private var looks: [String: Look] = [:]
  /// Files whose look missed its deadline and goes on.
  private var hanging: Set<String> = []
  /// Requests for such files, which fail in the next iteration.
  private var refused: [Completion] = []
  private var timer: (any Timer)?

  /// - Parameter changed: called when a file is not the one of the last look, before the request
  ///   that finds it goes on.
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

  /// Forgets all files, of which a new configuration may name others.
  func forget() {
    known = [:]
  }

  /// Looks at the files, one after the other. The completion gets the first that does not answer in
  /// time, or nil; if there is a file, it comes later.
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
