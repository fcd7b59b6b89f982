import CredCore

/// A file that the configuration names by a key.
struct NamedFile: Hashable {
  let path: String
  let key: String
}

/// Files that are being read, with the calls that wait for them. A file on a dead disk takes only
/// one thread; the other threads read other files.
final class FilesBeingRead {
  typealias Content = Result<Secret, InvalidInput>

  private let services: UpstreamServices
  private var waiting: [NamedFile: [(Content?) -> Void]] = [:]
  /// Files that missed their deadline and are still being read.
  private var hanging: Set<NamedFile> = []

  /// If reading a small file takes longer, it hangs.
  private static let timeout: Duration = .seconds(5)

  init(_ services: UpstreamServices) {
    self.services = services
  }

  /// - Parameter done: gets nil if the file could not be read in time.
  func read(_ file: NamedFile, _ done: @escaping (Content?) -> Void) {
    guard !hanging.contains(file) else { return done(nil) }
    waiting[file, default: []].append(done)
    guard waiting[file]?.count == 1 else { return }
    services.background.run(.files, deadline: services.clock.now + Self.timeout) {
      [queries = services.queries] in
      Result { () throws(InvalidInput) in try queries.file(file.path, key: file.key) }
    } completion: { [unowned self] outcome in
      let waiting = self.waiting.removeValue(forKey: file) ?? []
      switch outcome {
      case .finished(let content):
        hanging.remove(file)
        for done in waiting { done(content) }
      case .overdue(let isRunning):
        if isRunning { hanging.insert(file) }
        for done in waiting { done(nil) }
      }
    }
  }
}
