// Debian's libpq: PostgreSQL's own client.
#include <libpq-fe.h>
