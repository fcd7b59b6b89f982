import Glibc
import NIOPosix
import Synchronization

/// One file, in the mode in which readers do not wait for the writer. Several processes may have it
/// open: a second server on the same machine, and the commands of the administrator.
public final class SQLiteDatabase: SQLDatabase {
  private let path: String
  private let access: StoreAccess
  private let reserve: DiskReserve
  /// SQLite has one writer at a time: writes queue here, and not within SQLite.
  private let writer: NIOThreadPool
  private let writing: Mutex<SQLiteConnection?>
  private let readers: NIOThreadPool
  private let idle = Mutex<[SQLiteConnection]>([])

  public var dialect: SQLDialect { .sqlite }

  public init(path: String, _ access: StoreAccess = .make) throws {
    self.path = path
    self.access = access
    reserve = DiskReserve(beside: path)
    let isThere = unsafe Glibc.access(path, F_OK) == 0 || errno != ENOENT
    guard access == .make || isThere else {
      throw StoreError.unavailable(
        "there is no \(path) yet: start the server, or run 'credd-authserver migrate'")
    }
    writing = Mutex(access == .read ? nil : try Self.openWriter(path, access, reserve))
    writer = NIOThreadPool(numberOfThreads: 1)
    readers = NIOThreadPool(numberOfThreads: 4)
    writer.start()
    readers.start()
  }

  /// To open it takes room too, unless a server has it open.
  private static func openWriter(
    _ path: String, _ access: StoreAccess, _ reserve: DiskReserve
  ) throws -> SQLiteConnection {
    while true {
      do {
        return try SQLiteConnection(path: path, access == .make ? .make : .write)
      } catch StoreError.full(let place) {
        guard reserve.release() else { throw StoreError.full(place) }
      }
    }
  }

  public func read<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await run(on: readers) { [self] in
      let connection =
        try idle.withLock { $0.popLast() }
        ?? SQLiteConnection(path: path, access == .read ? .look : .read)
      defer { idle.withLock { $0.append(connection) } }
      return try body(connection)
    }
  }

  public func write<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await onWriter { try $0.transaction(body) }
  }

  /// Its transactions wait for nobody's answer.
  public func writeAlone<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T? { nil }

  public func writeUrgently<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await onWriter { [reserve] connection in
      do { return try connection.transaction(body) } catch StoreError.full(let place) {
        var isLeft = true
        while isLeft {
          do {
            // The room is given up within the transaction: no other process writes the database then.
            return try connection.transaction { connection in
              isLeft = reserve.release()
              return try body(connection)
            }
          } catch StoreError.full {}
        }
        throw StoreError.full(place)
      }
    }
  }

  private func onWriter<T: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> T
  ) async throws -> T {
    try await run(on: writer) { [self] in
      try writing.withLock { connection in
        guard let connection else {
          throw StoreError.unavailable(access == .read ? "it was opened to read" : "it is closed")
        }
        return try body(connection)
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

  public func keepReserve() async { try? await run(on: writer) { [reserve] in reserve.keep() } }

  public func copy(to descriptor: Int32) async throws {
    try await run(on: readers) { [path] in
      try SQLiteConnection(path: path, .look).copy(to: descriptor)
    }
  }

  public func close() async {
    try? await readers.shutdownGracefully()
    try? await writer.shutdownGracefully()
    idle.withLock { $0.removeAll() }
    writing.withLock { $0 = nil }
  }
}
