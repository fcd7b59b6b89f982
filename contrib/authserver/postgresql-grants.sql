-- The least rights on credd-authserver's tables in PostgreSQL. The role that owns the schema runs
-- 'credd-authserver migrate' and 'credd-authserver audit archive', and then this, after each migrate:
--
--   psql -v server=ROLE -v administrator=ROLE -f postgresql-grants.sql DATABASE
--
-- The server enrols no host and adds nobody. The administrator's commands do, and neither of the two
-- changes an entry of the audit, or makes a table.
\set ON_ERROR_STOP on
SELECT current_schema() AS schema \gset
BEGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"server", :"administrator";
GRANT INSERT ON audit, audit_heads TO :"server", :"administrator";
GRANT UPDATE ON audit_heads TO :"server", :"administrator";

GRANT INSERT, UPDATE, DELETE ON users, sessions, identities, guesses, quota, adoptions,
  sample_devices, sample_signatures TO :"server", :"administrator";
GRANT UPDATE ON invitations TO :"server";
GRANT DELETE ON host_tokens TO :"server";
-- Of one column, for the lock that a sign-in takes.
GRANT UPDATE (created) ON hosts TO :"server";

GRANT INSERT, UPDATE, DELETE ON hosts, host_groups, host_tokens, invitations TO :"administrator";
COMMIT;
