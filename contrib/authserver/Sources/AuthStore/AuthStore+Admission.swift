public import AuthCore

extension AuthStore {
  /// Takes up to `wanted` calls out of the bucket that all servers share.
  ///
  /// - Parameter time: in place of the database's clock. Servers' clocks do not count: a clock that
  ///   is ahead would keep the bucket empty for the other servers.
  public func takeQuota(_ wanted: Int, rate: Int, at time: Timestamp? = nil) async throws -> Int {
    let (lock, clock) = (database.dialect.forUpdate, database.dialect.clock)
    return try await database.write { connection in
      let now =
        if let time { time } else {
          Timestamp(milliseconds: try connection.run("SELECT " + clock).first?.integer(0) ?? 0)
        }
      try connection.run(
        "INSERT INTO quota (name, level, updated) VALUES ('tokens', ?, ?) ON CONFLICT DO NOTHING",
        .integer(Int64(rate) * 1000), .integer(now.milliseconds))
      let rows = try connection.run(
        "SELECT level, updated FROM quota WHERE name = 'tokens'" + lock)
      guard let row = rows.first else { return 0 }
      var bucket = SharedBucket(
        level: try row.integer(0), updated: Timestamp(milliseconds: try row.integer(1)))
      let taken = bucket.take(wanted, rate: rate, at: now)
      try connection.run(
        "UPDATE quota SET level = ?, updated = ? WHERE name = 'tokens'", .integer(bucket.level),
        .integer(bucket.updated.milliseconds))
      return taken
    }
  }

  /// Counts a try to sign in, before its password is looked at.
  ///
  /// - Returns: how long the try must wait; nil if it may go ahead.
  public func beginGuess(_ keys: Guesses.Keys, now: Timestamp) async throws -> Interval? {
    let lock = database.dialect.forUpdate
    do {
      try await database.write { try Self.count(keys, now, lock, $0) }
      return nil
    } catch let paused as Paused {
      return paused.interval
    }
  }

  /// Ends the transaction, so that a try that was not admitted leaves no row behind.
  private struct Paused: Error { let interval: Interval }

  private static func count(
    _ keys: Guesses.Keys, _ now: Timestamp, _ lock: String, _ connection: any SQLConnection
  ) throws {
    var records: [String: Guesses.Record] = [:]
    for name in keys.names { records[name] = try lockGuesses(name, now, lock, connection) }
    switch keys.decide(records, at: now) {
    case .pause(let interval): throw Paused(interval: interval)
    case .count(let guesses):
      for (name, guesses) in guesses {
        try connection.run(
          "UPDATE guesses SET failures = ?, last = ? WHERE name = ?", .integer(guesses.failures),
          .integer(guesses.last.milliseconds), .text(name))
      }
    }
  }

  private static func lockGuesses(
    _ name: String, _ now: Timestamp, _ lock: String, _ connection: any SQLConnection
  ) throws -> Guesses.Record {
    try connection.run(
      "INSERT INTO guesses (name, failures, last) VALUES (?, 0, ?) ON CONFLICT DO NOTHING",
      .text(name), .integer(now.milliseconds))
    let row = try connection.run(
      "SELECT failures, last, succeeded FROM guesses WHERE name = ?" + lock, .text(name)
    ).first
    let last = Timestamp(milliseconds: try row?.integer(1) ?? now.milliseconds)
    return Guesses.Record(
      guesses: Guesses(failures: try row?.integer(0) ?? 0, last: last),
      succeeded: row?.optionalInteger(2).map { Timestamp(milliseconds: $0) })
  }

  /// The password was right: the tries at this user are forgotten, and the source is known.
  public func endGuess(_ keys: Guesses.Keys, now: Timestamp) async throws {
    try await database.write { connection in
      try connection.run(
        "UPDATE guesses SET failures = 0, succeeded = ? WHERE name = ?",
        .integer(now.milliseconds), .text(keys.pair))
      try connection.run("UPDATE guesses SET failures = 0 WHERE name = ?", .text(keys.user ?? ""))
      try connection.run(
        "UPDATE guesses SET failures = failures - 1 WHERE name = ? AND failures > 0",
        .text(keys.source ?? ""))
    }
  }

  /// Removes rows that have ended, in small pieces, so that nobody waits for it.
  public func sweep(now: Timestamp) async throws {
    let guesses = now.milliseconds - Limits.guessMemory.milliseconds
    let sources = now.milliseconds - Limits.sourceMemory.milliseconds
    let signatures = now.milliseconds - Limits.sampleReplay.milliseconds
    let tokens = now.milliseconds - Limits.endedTokenMemory.milliseconds
    try await remove("host_tokens", key: "id", "expires < ?", [.integer(tokens)])
    try await remove("sessions", key: "id", "expires < ?", [.integer(now.milliseconds)])
    try await remove(
      "sample_signatures", key: "(identifier, signature)", "time < ?", [.integer(signatures)])
    try await remove(
      "guesses", key: "name", "last < ? AND (succeeded IS NULL OR succeeded < ?)",
      [.integer(guesses), .integer(sources)])
  }

  private static let piece = 1000

  private func remove(
    _ table: String, key: String, _ condition: String, _ values: [SQLValue]
  ) async throws {
    let columns = key.filter { $0 != "(" && $0 != ")" }
    let sql =
      "DELETE FROM \(table) WHERE \(key) IN (SELECT \(columns) FROM \(table) WHERE \(condition) "
      + "LIMIT \(Self.piece)) RETURNING \(columns)"
    while try await database.write({ try $0.run(sql, values).count }) == Self.piece {}
  }
}
