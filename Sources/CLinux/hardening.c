#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void credd_wipe(void *memory, size_t length) { explicit_bzero(memory, length); }

int credd_open_standard_streams(void) {
  // open() takes the lowest free number, so this fills 0, 1 and 2.
  for (;;) {
    int descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    if (descriptor > 2) return close(descriptor);
    if (fcntl(descriptor, F_SETFD, 0) < 0) return -errno;
  }
}

int credd_harden(void) {
  const struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -errno;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  return 0;
}

// CAP_IPC_LOCK removes the limit. Root in a container may be unable to raise it.
static int may_lock_any_memory(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, data) < 0) return 0;
  return (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

int credd_lock_memory(void) {
  // The kernel counts mapped memory, not used memory, as locked: 8 MiB for a thread's stack, 64 MiB
  // for an arena. At the limit the next allocation would fail, and the daemon would end.
  const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 && !may_lock_any_memory()) return -EPERM;
  // Threads that look up names need no separate arena.
  mallopt(M_ARENA_MAX, 1);
  // MCL_ONFAULT: pages that are never used take no memory.
  return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0 ? -errno : 0;
}

int credd_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  return 0;
}
