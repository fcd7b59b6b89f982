/// The schema, with one step for each version. A released step is never changed; a new step follows
/// it.
enum Migrations {
  static let steps: [@Sendable (SQLDialect) -> [String]] = [
    first, { _ in adoptions }, { _ in groups }, archives, bytewiseNames, { _ in bounds },
  ]
  static let versionWithArchives = 4

  @Sendable private static func first(_ dialect: SQLDialect) -> [String] {
    tables + (dialect == .sqlite ? appendOnlySQLite : appendOnlyPostgres)
  }

  private static let tables = [
    """
    CREATE TABLE users (
      identifier TEXT PRIMARY KEY, unique_key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
      password TEXT, disabled BIGINT NOT NULL DEFAULT 0, created BIGINT NOT NULL)
    """,
    """
    CREATE TABLE hosts (
      name TEXT PRIMARY KEY, vouches TEXT NOT NULL, signs_in TEXT NOT NULL, pools TEXT NOT NULL,
      may_link BIGINT NOT NULL, may_adopt_guests BIGINT NOT NULL,
      expires BIGINT, revoked BIGINT, created BIGINT NOT NULL)
    """,
    """
    CREATE TABLE host_tokens (
      id TEXT PRIMARY KEY, host TEXT NOT NULL REFERENCES hosts (name), hash TEXT NOT NULL,
      created BIGINT NOT NULL, expires BIGINT)
    """,
    """
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY, hash TEXT NOT NULL, host TEXT NOT NULL, identifier TEXT NOT NULL,
      provider TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL)
    """,
    "CREATE INDEX sessions_of_users ON sessions (identifier)",
    "CREATE INDEX sessions_by_end ON sessions (expires)",
    """
    CREATE TABLE invitations (
      id TEXT PRIMARY KEY, hash TEXT NOT NULL, name TEXT NOT NULL, created BIGINT NOT NULL,
      expires BIGINT NOT NULL, used BIGINT, used_by TEXT)
    """,
    """
    CREATE TABLE identities (
      pool TEXT NOT NULL, identifier TEXT NOT NULL, identity_id TEXT NOT NULL,
      updated BIGINT NOT NULL, PRIMARY KEY (pool, identifier))
    """,
    """
    CREATE TABLE guesses (
      name TEXT PRIMARY KEY, failures BIGINT NOT NULL, last BIGINT NOT NULL, succeeded BIGINT)
    """,
    "CREATE TABLE quota (name TEXT PRIMARY KEY, level BIGINT NOT NULL, updated BIGINT NOT NULL)",
    """
    CREATE TABLE sample_devices (
      uid TEXT PRIMARY KEY, identifier TEXT NOT NULL, device_key TEXT NOT NULL,
      created BIGINT NOT NULL, revoked BIGINT NOT NULL DEFAULT 0)
    """,
    "CREATE INDEX sample_devices_of_users ON sample_devices (identifier)",
    """
    CREATE TABLE sample_signatures (
      identifier TEXT NOT NULL, signature TEXT NOT NULL, time BIGINT NOT NULL,
      PRIMARY KEY (identifier, signature))
    """,
    """
    CREATE TABLE audit (
      chain TEXT NOT NULL, sequence BIGINT NOT NULL, time BIGINT NOT NULL, event TEXT NOT NULL,
      detail TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL,
      PRIMARY KEY (chain, sequence))
    """,
    "CREATE INDEX audit_by_time ON audit (time)",
    "CREATE TABLE audit_heads (chain TEXT PRIMARY KEY, sequence BIGINT NOT NULL, hash TEXT NOT NULL)",
  ]

  /// Guests' identities, and the first user who took each identity over.
  private static let adoptions = [
    """
    CREATE TABLE adoptions (
      pool TEXT NOT NULL, identity_id TEXT NOT NULL, identifier TEXT NOT NULL,
      PRIMARY KEY (pool, identity_id))
    """
  ]

  /// Groups of hosts. A token now has no end until another token takes its place, so that the
  /// enrolment's end can be changed.
  private static let groups = [
    """
    CREATE TABLE host_groups (
      name TEXT PRIMARY KEY, vouches TEXT NOT NULL, signs_in TEXT NOT NULL, pools TEXT NOT NULL,
      may_link BIGINT NOT NULL, may_adopt_guests BIGINT NOT NULL, created BIGINT NOT NULL)
    """,
    "ALTER TABLE hosts ADD COLUMN host_group TEXT REFERENCES host_groups (name)",
    """
    UPDATE host_tokens SET expires = NULL
    WHERE expires = (SELECT h.expires FROM hosts h WHERE h.name = host_tokens.host)
    """,
    // ẞ was another letter than ß until now. If both names are taken, each stays as it is.
    """
    UPDATE users SET unique_key = REPLACE(unique_key, 'ß', 'ss')
    WHERE kind <> 'vouched' AND unique_key LIKE '%ß%' AND NOT EXISTS (
      SELECT 1 FROM users other WHERE other.identifier <> users.identifier
      AND REPLACE(other.unique_key, 'ß', 'ss') = REPLACE(users.unique_key, 'ß', 'ss'))
    """,
  ]

  /// Entries may go once they are in an archive. Then the chain starts behind the archive.
  @Sendable private static func archives(_ dialect: SQLDialect) -> [String] {
    let table =
      "CREATE TABLE audit_starts (chain TEXT PRIMARY KEY, sequence BIGINT NOT NULL, hash TEXT NOT NULL)"
    let isKept =
      "OLD.sequence > COALESCE((SELECT sequence FROM audit_starts WHERE chain = OLD.chain), 0)"
    guard dialect == .postgres else {
      return [
        table, "DROP TRIGGER audit_no_delete",
        "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit WHEN \(isKept) "
          + "BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END",
      ]
    }
    return [
      table, "DROP TRIGGER audit_append_only ON audit",
      """
      CREATE TRIGGER audit_append_only BEFORE UPDATE OR TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
      """,
      """
      CREATE FUNCTION audit_keeps_what_is_in_no_archive() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN
        IF \(isKept) THEN RAISE EXCEPTION 'the audit is append-only'; END IF;
        RETURN OLD;
      END $$
      """,
      """
      CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION audit_keeps_what_is_in_no_archive()
      """,
    ]
  }

  /// The beginnings of names are looked up in the order of their bytes. SQLite's indexes have that
  /// order.
  @Sendable private static func bytewiseNames(_ dialect: SQLDialect) -> [String] {
    guard dialect == .postgres else { return [] }
    return ["identifier", "unique_key"].map {
      "CREATE INDEX users_by_\($0) ON users (\(dialect.bytewise($0)))"
    }
  }

  /// The time from which certificates of a newly enrolled host count, and the place up to which
  /// archived entries of the audit were removed.
  private static let bounds = [
    "ALTER TABLE hosts ADD COLUMN certificates_from BIGINT",
    "ALTER TABLE audit_starts ADD COLUMN removed BIGINT NOT NULL DEFAULT 0",
  ]

  /// Against mistakes; against malice there is the chain.
  private static let appendOnlySQLite = ["UPDATE", "DELETE"].map {
    "CREATE TRIGGER audit_no_\($0.lowercased()) BEFORE \($0) ON audit "
      + "BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END"
  }

  private static let appendOnlyPostgres = [
    """
    CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()
    """,
  ]
}
