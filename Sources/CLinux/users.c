#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// NGROUPS_MAX of Linux.
#define GROUPS_MOST 65536

static int look_up_groups(struct credd_user *user, gid_t primary) {
  for (int size = 64; size <= GROUPS_MOST; size *= 8) {
    gid_t *groups = calloc((size_t)size, sizeof *groups);
    int count = size;
    if (!groups) return -ENOMEM;
    if (getgrouplist(user->name, primary, groups, &count) >= 0) {
      user->groups = groups;
      user->group_count = (size_t)count;
      return 1;
    }
    free(groups);
  }
  return -ERANGE;
}

int credd_look_up_user(uid_t uid, const char *name, bool with_groups, struct credd_user *user) {
  size_t size = 4096;
  int result = -ENOMEM;
  for (char *buffer = malloc(size); buffer; buffer = malloc(size)) {
    struct passwd entry, *found = NULL;
    int failure = name ? getpwnam_r(name, &entry, buffer, size, &found)
                       : getpwuid_r(uid, &entry, buffer, size, &found);
    if (failure == 0 && found) {
      size_t length = strlen(entry.pw_name);
      result = length < sizeof user->name ? 1 : -ENAMETOOLONG;
      // The database may accept another spelling of a name; the database's own spelling counts.
      if (result == 1) memcpy(user->name, entry.pw_name, length + 1);
      user->uid = entry.pw_uid;
      user->gid = entry.pw_gid;
      if (result == 1 && with_groups) result = look_up_groups(user, entry.pw_gid);
    } else {
      // According to POSIX, 0 or one of these numbers may mean "no such user".
      result = failure == 0 || failure == ENOENT || failure == ESRCH ? 0 : -failure;
    }
    free(buffer);
    if (result != -ERANGE || size >= 1 << 20) break;
    size *= 4;
  }
  return result;
}

int credd_group_id(const char *name, gid_t *gid) {
  size_t size = 4096;
  for (char *buffer = malloc(size); buffer; buffer = malloc(size)) {
    struct group entry, *found = NULL;
    int failure = getgrnam_r(name, &entry, buffer, size, &found);
    free(buffer);
    if (failure == ERANGE && size < 1 << 24) {
      size *= 4;
      continue;
    }
    if (failure == 0 && found) {
      *gid = entry.gr_gid;
      return 1;
    }
    // glibc reports "no such group" by 0. Any other number is an error of a module: for example
    // ENOENT, if its daemon restarts and the daemon's socket is missing.
    return -failure;
  }
  return -ENOMEM;
}

size_t credd_list_names(bool of_groups, char *buffer, size_t size) {
  size_t used = 0;
  of_groups ? setgrent() : setpwent();
  for (;;) {
    const struct group *group = of_groups ? getgrent() : NULL;
    const struct passwd *user = of_groups ? NULL : getpwent();
    const char *name = group ? group->gr_name : user ? user->pw_name : NULL;
    size_t length = name ? strlen(name) + 1 : 0;
    if (!name || length > size - used) break;
    memcpy(buffer + used, name, length);
    used += length;
  }
  of_groups ? endgrent() : endpwent();
  return used;
}

int credd_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count) {
  // Root may lock any memory, that user only up to the limit. Where root could not remove the limit, the
  // user's next mapping would fail, and with it libraries, threads and the user database.
  struct rlimit limit;
  if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) return -errno;
  if (limit.rlim_cur != RLIM_INFINITY && munlockall() < 0) return -errno;
  if (setgroups(count, groups) < 0) return -errno;
  if (setresgid(gid, gid, gid) < 0) return -errno;
  if (setresuid(uid, uid, uid) < 0) return -errno;
  // The change of the user has set it to fs.suid_dumpable.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -errno;
  return 0;
}
