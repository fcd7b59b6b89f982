#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

void credd_wipe(void *memory, size_t length) { explicit_bzero(memory, length); }

int credd_open_standard_streams(void) {
  // The lowest free number is taken, so this fills 0, 1 and 2.
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

int credd_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
  return 0;
}

int credd_random(void *buffer, size_t length) {
  size_t filled = 0;
  while (filled < length) {
    ssize_t n = getrandom((char *)buffer + filled, length - filled, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    filled += (size_t)n;
  }
  return 0;
}
