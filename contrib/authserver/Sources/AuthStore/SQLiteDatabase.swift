import NIOPosix
import Synchronization

/// One file, in the mode in which readers do not wait for the writer. Several processes may have it
/// open: a second server on the same machine, and the commands of the administrator.
public final class SQLiteDatabase: SQLDatabase {
  private let path: String
  /// SQLite has one writer at a time: writes queue here, and not within SQLite.
  private let writer: NIOThreadPool
  private let writing: Mutex<SQLiteConnection?>
  private let readers: NIOThreadPool
  private let idle = Mutex<[SQLiteConnection]>([])

  public var dialect: SQLDialect { .sqlite }

  public init(path: String) throws {
    self.path = path
    writing = Mutex(try SQLiteConnection(path: path, isWriter: true))
    writer = NIOThreadPool(numberOfThreads: 1)
    readers = NIOThreadPool(numberOfThreads: 4)
    writer.start()
    readers.start()
  }

  public func read<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await run(on: readers) { [self] in
      let connection = try idle.withLock { $0.popLast() } ?? SQLiteConnection(path: path)
      defer { idle.withLock { $0.append(connection) } }
      return try body(connection)
    }
  }

  public func write<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await run(on: writer) { [self] in
      try writing.withLock { connection in
        guard let connection else { throw StoreError.unavailable("it is closed") }
        return try connection.transaction(body)
      }
    }
  }

  private func run<T: Sendable>(
    on threads: NIOThreadPool, _ body: @escaping @Sendable () throws -> T
  ) async throws -> T {
    do {
      return try await threads.runIfActive(body)
    } catch is CancellationError {
      throw StoreError.unavailable("it is closed")
    }
  }

  public func close() async {
    try? await readers.shutdownGracefully()
    try? await writer.shutdownGracefully()
    idle.withLock { $0.removeAll() }
    writing.withLock { $0 = nil }
  }
}
