-- The least rights on credd-authserver's tables in PostgreSQL. The role that owns the schema runs
-- 'credd-authserver migrate' and 'credd-authserver audit archive', and then this, after each migrate:
--
--   psql -v server=ROLE -v administrator=ROLE -f postgresql-grants.sql DATABASE
--
-- What the two had before, and have no longer here, is taken away.
--
-- The server makes accounts, where the configuration lets people register, and changes passwords. It
-- enrols and changes no host, makes no invitation, and disables, enables and deletes nobody: the
-- administrator's commands do. Neither of the two changes an entry of the audit, or makes a table.
\set ON_ERROR_STOP on
SELECT current_schema() AS schema \gset
BEGIN;
SELECT format('REVOKE ALL ON %I.%I FROM %I', schemaname, tablename, role)
  FROM pg_tables, (VALUES (:'server'), (:'administrator')) AS roles (role)
  WHERE schemaname = :'schema' AND tableowner <> role \gexec
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"server", :"administrator";
GRANT INSERT ON audit, audit_heads TO :"server", :"administrator";
GRANT UPDATE (sequence, hash) ON audit_heads TO :"server", :"administrator";

GRANT INSERT, UPDATE (password) ON users TO :"server";
GRANT INSERT, DELETE ON sessions TO :"server";
GRANT INSERT, UPDATE (identity_id, updated) ON identities TO :"server";
GRANT INSERT ON adoptions TO :"server";
GRANT INSERT, UPDATE (level, updated) ON quota TO :"server";
GRANT INSERT, UPDATE (failures, last, succeeded), DELETE ON guesses TO :"server";
GRANT INSERT, UPDATE (device_key, created, revoked), DELETE ON sample_devices TO :"server";
GRANT INSERT, UPDATE (time), DELETE ON sample_signatures TO :"server";
GRANT UPDATE (used, used_by) ON invitations TO :"server";
-- Those that have ended long ago.
GRANT DELETE ON host_tokens TO :"server";
-- Of one column, for the lock that a sign-in takes.
GRANT UPDATE (created) ON hosts TO :"server";

GRANT INSERT, UPDATE, DELETE ON users, identities, hosts, host_groups, host_tokens, invitations
  TO :"administrator";
GRANT DELETE ON sessions TO :"administrator";
GRANT UPDATE (revoked), DELETE ON sample_devices TO :"administrator";
COMMIT;
