#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int credd_pidfd_open(pid_t pid) {
  // glibc has it since 2.36 only.
  long pidfd = syscall(SYS_pidfd_open, pid, 0);
  return pidfd < 0 ? -errno : (int)pidfd;
}

// Reads a file of /proc/PID into `buffer`, as a string.
static int read_process_file(pid_t pid, const char *name, char *buffer, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  ssize_t count = read(descriptor, buffer, capacity - 1);
  int failure = errno;
  close(descriptor);
  if (count < 0) return -failure;
  buffer[count] = 0;
  return 0;
}

int credd_process_facts(pid_t pid, uid_t *uid, int64_t *started) {
  char text[4096];
  int result = read_process_file(pid, "stat", text, sizeof text);
  if (result < 0) return result;
  // The command's name, in brackets, may hold brackets and blanks itself.
  const char *rest = strrchr(text, ')');
  uint64_t ticks;
  // Fields 3 to 22 of proc(5): the state, eighteen numbers, the start in clock ticks.
  if (!rest || sscanf(rest + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                      "%*d %" SCNu64,
                      &ticks) != 1)
    return -EPROTO;
  *started = (int64_t)(ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));

  result = read_process_file(pid, "status", text, sizeof text);
  if (result < 0) return result;
  const char *line = strstr(text, "\nUid:");
  unsigned real;
  if (!line || sscanf(line, "\nUid: %u", &real) != 1) return -EPROTO;
  *uid = real;
  return 0;
}
