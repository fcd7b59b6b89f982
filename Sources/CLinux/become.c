#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// These settings survive an exec, so the next program would inherit our values. The kernel itself
// resets PR_SET_DUMPABLE.
static struct rlimit inherited_core_limit;
static const int ignored[] = {SIGPIPE, SIGXFSZ};
#define IGNORED (sizeof ignored / sizeof *ignored)
static struct sigaction inherited_actions[IGNORED];

static int give_actions_back(void) {
  for (size_t i = 0; i < IGNORED; i++)
    if (sigaction(ignored[i], &inherited_actions[i], NULL) < 0) return -1;
  return 0;
}

int credd_harden_client(void) {
  if (getrlimit(RLIMIT_CORE, &inherited_core_limit) < 0) return -errno;
  const struct rlimit none = {0, inherited_core_limit.rlim_max};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -errno;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  for (size_t i = 0; i < IGNORED; i++)
    if (sigaction(ignored[i], &ignore, &inherited_actions[i]) < 0) return -errno;
  return 0;
}

int credd_become(const char *const *arguments, const char *const *environment) {
  if (setrlimit(RLIMIT_CORE, &inherited_core_limit) < 0) return -errno;
  if (give_actions_back() < 0) return -errno;
  execvpe(arguments[0], (char *const *)arguments, (char *const *)environment);
  int failure = errno;
  // The reader of our error line may have closed its pipe, and its file may be full.
  for (size_t i = 0; i < IGNORED; i++) signal(ignored[i], SIG_IGN);
  return -failure;
}
