#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// Both settings survive an exec, so the next program would inherit our values. The kernel itself
// resets PR_SET_DUMPABLE.
static struct rlimit inherited_core_limit;
static struct sigaction inherited_pipe_action;

int credd_harden_client(void) {
  if (getrlimit(RLIMIT_CORE, &inherited_core_limit) < 0) return -errno;
  const struct rlimit none = {0, inherited_core_limit.rlim_max};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -errno;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  if (sigaction(SIGPIPE, &ignore, &inherited_pipe_action) < 0) return -errno;
  return 0;
}

int credd_become(const char *const *arguments, const char *const *environment) {
  if (setrlimit(RLIMIT_CORE, &inherited_core_limit) < 0) return -errno;
  if (sigaction(SIGPIPE, &inherited_pipe_action, NULL) < 0) return -errno;
  execvpe(arguments[0], (char *const *)arguments, (char *const *)environment);
  int failure = errno;
  // The reader of our error line may have closed its pipe.
  signal(SIGPIPE, SIG_IGN);
  return -failure;
}
