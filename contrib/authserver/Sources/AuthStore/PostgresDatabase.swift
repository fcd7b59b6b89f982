public import AuthCore
import NIOPosix
import Synchronization

/// PostgreSQL, by libpq. Statements run on threads of this type. Unused connections wait in a pool.
public final class PostgresDatabase: SQLDatabase {
  private let url: String
  private let time: Interval
  private let age: Duration
  private let isReading: Bool
  private let threads: NIOThreadPool
  private let idle = Mutex<[PostgresConnection]>([])

  public var dialect: SQLDialect { .postgres }

  /// - Parameters:
  ///   - connections: how many are open at once, at most.
  ///   - time: how long to wait for a connection, and for an answer.
  ///   - age: the age after which a connection is not used again.
  ///   - isReading: whether a stand-by will do.
  public init(
    url: String, connections: Int = 8, time: Interval = Limits.databaseTime,
    age: Interval = Limits.connectionAge, isReading: Bool = false
  ) {
    self.url = url
    self.time = time
    self.age = .milliseconds(age.milliseconds)
    self.isReading = isReading
    threads = NIOThreadPool(numberOfThreads: connections)
    threads.start()
  }

  public func read<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    try await onThread { try $0.read(body) }
  }

  public func writeAlone<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T? {
    do {
      // Behind a pooler only a transaction has limits.
      return try await onThread { try $0.isPooled ? nil : $0.read(body) }
    } catch StoreError.collided { return nil }
  }

  public func write<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T {
    // Another transaction may have been in the way. After a few tries the caller is told.
    for _ in 0..<4 {
      do {
        return try await onThread { try $0.transaction(body) }
      } catch StoreError.collided {
        continue
      }
    }
    throw StoreError.unavailable("too many transactions at once")
  }

  /// PostgreSQL's own disk is for its administrators.
  public func writeUrgently<T: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws -> T
  ) async throws -> T { try await write(body) }

  public func keepReserve() async {}

  public func copy(to descriptor: Int32) async throws {
    throw StoreError.failed("a copy of it is made by pg_dump")
  }

  private func onThread<T: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> T
  ) async throws -> T {
    let start = ContinuousClock.now
    do {
      return try await threads.runIfActive { [self] in
        guard ContinuousClock.now - start < .milliseconds(time.milliseconds) else {
          throw StoreError.unavailable("too many requests wait for it")
        }
        return try use(body)
      }
    } catch is CancellationError {
      throw StoreError.unavailable("it is closed")
    }
  }

  /// Runs on a connection of the pool, or on a new connection.
  ///
  /// A restart of PostgreSQL breaks all connections of the pool. After a fail-over, they lead to a
  /// server that only reads. The first use that sees it discards all of them. If nothing has
  /// happened yet, it goes on with a new connection.
  private func use<T>(_ body: (PostgresConnection) throws -> T) throws -> T {
    while let connection = idle.withLock({ $0.popLast() }) {
      guard connection.isUsable, ContinuousClock.now - connection.made < age else { continue }
      do {
        return try run(body, on: connection)
      } catch StoreError.unavailable where connection.isBroken || connection.isReadOnly {
        let stale = idle.withLock { connections in
          defer { connections = [] }
          return connections
        }
        // They are closed here, outside the lock.
        _ = consume stale
        guard !connection.hasBegun || connection.isReadOnly else {
          throw StoreError.unavailable(Self.brokeOff)
        }
        break
      }
    }
    let new = try PostgresConnection(url: url, time: time, isReading: isReading)
    return try run(body, on: new)
  }

  private static let brokeOff = "the connection broke within a transaction"

  private func run<T>(
    _ body: (PostgresConnection) throws -> T, on connection: PostgresConnection
  ) throws -> T {
    defer { if connection.isUsable { idle.withLock { $0.append(connection) } } }
    return try body(connection)
  }

  public func close() async {
    try? await threads.shutdownGracefully()
    idle.withLock { $0.removeAll() }
  }
}
