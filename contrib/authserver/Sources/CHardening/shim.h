// Swift cannot call prctl(2), which takes any number of arguments.
#include <sys/prctl.h>
#include <sys/resource.h>

/// No core dumps of this program or of one that it starts, and no tracing of this one by other processes of
/// its user. 0, or -1 with errno.
static inline int auth_harden(void) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -1;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
