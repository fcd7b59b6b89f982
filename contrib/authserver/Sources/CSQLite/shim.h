// Debian's SQLite.
#include <sqlite3.h>
// Which kind of disk its files lie on; Swift has no module for that.
#include <sys/vfs.h>

// Swift does not see a macro that computes.
static const int auth_sqlite_constraint_trigger = SQLITE_CONSTRAINT_TRIGGER;
static const int auth_sqlite_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;
