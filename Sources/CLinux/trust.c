// Facts that credctl needs about the process to which it connects. credctl is linked statically, so
// it cannot use getpwnam(3) and its plug-ins.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

int credd_local_user(const char *path, const char *name, uid_t *uid) {
  FILE *file = fopen(path, "re");
  if (!file) return -errno;
  struct passwd entry, *found;
  char buffer[4096];
  int result = 0;
  // ERANGE: a line is longer than the buffer; it does not belong to a system user.
  for (int failure; (failure = fgetpwent_r(file, &entry, buffer, sizeof buffer, &found)) == 0 ||
                    failure == ERANGE;) {
    if (failure == ERANGE || strcmp(entry.pw_name, name) != 0) continue;
    *uid = entry.pw_uid;
    result = 1;
    break;
  }
  fclose(file);
  return result;
}

bool credd_has_every_uid(void) {
  FILE *file = fopen("/proc/self/uid_map", "re");
  if (!file) return true;  // no /proc, or a kernel without user namespaces
  unsigned first, outside, count;
  bool every = fscanf(file, "%u %u %u", &first, &outside, &count) == 3 && first == 0 &&
               outside == 0 && count == 0xFFFFFFFFu;
  fclose(file);
  return every;
}
