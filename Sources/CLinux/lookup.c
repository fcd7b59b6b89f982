#define _GNU_SOURCE
#include "CLinux.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Shared by the loop and one thread; the last of the two to let go frees it.
struct credd_lookup {
  atomic_int holders;
  atomic_int state;  // -EAGAIN until the thread is done
  uid_t uid;
  bool by_name, with_groups;
  int eventfd;
  char name[257];
  gid_t *groups;
  int group_count;
};

// NGROUPS_MAX of Linux.
#define GROUPS_MOST 65536

void credd_lookup_release(struct credd_lookup *lookup) {
  if (atomic_fetch_sub(&lookup->holders, 1) > 1) return;
  close(lookup->eventfd);
  free(lookup->groups);
  free(lookup);
}

static int look_up_groups(struct credd_lookup *lookup, gid_t primary) {
  for (int size = 64; size <= GROUPS_MOST; size *= 8) {
    gid_t *groups = calloc((size_t)size, sizeof *groups);
    int count = size;
    if (!groups) return -ENOMEM;
    if (getgrouplist(lookup->name, primary, groups, &count) >= 0) {
      lookup->groups = groups;
      lookup->group_count = count;
      return 1;
    }
    free(groups);
  }
  return -ERANGE;
}

static int look_up(struct credd_lookup *lookup) {
  size_t size = 4096;
  int result = -ENOMEM;
  for (char *buffer = malloc(size); buffer; buffer = malloc(size)) {
    struct passwd entry, *found = NULL;
    int failure = lookup->by_name ? getpwnam_r(lookup->name, &entry, buffer, size, &found)
                                  : getpwuid_r(lookup->uid, &entry, buffer, size, &found);
    if (failure == 0 && found) {
      size_t length = strlen(entry.pw_name);
      result = length < sizeof lookup->name ? 1 : -ENAMETOOLONG;
      // A directory may answer to another spelling than it keeps; the one it keeps is the name.
      if (result == 1) memcpy(lookup->name, entry.pw_name, length + 1);
      lookup->uid = entry.pw_uid;
      if (result == 1 && lookup->with_groups) result = look_up_groups(lookup, entry.pw_gid);
    } else {
      // POSIX lets "no such user" be 0 or one of these.
      result = failure == 0 || failure == ENOENT || failure == ESRCH ? 0 : -failure;
    }
    free(buffer);
    if (result != -ERANGE || size >= 1 << 20) break;
    size *= 4;
  }
  return result;
}

static void *run(void *argument) {
  struct credd_lookup *lookup = argument;
  atomic_store(&lookup->state, look_up(lookup));
  credd_eventfd_signal(lookup->eventfd);
  credd_lookup_release(lookup);
  return NULL;
}

struct credd_lookup *credd_lookup_start(uid_t uid, const char *name, bool with_groups,
                                        int eventfd) {
  if (name && strlen(name) >= sizeof((struct credd_lookup *)0)->name) return NULL;
  struct credd_lookup *lookup = calloc(1, sizeof *lookup);
  if (!lookup) return NULL;
  if (name) strcpy(lookup->name, name);
  lookup->by_name = name != NULL;
  lookup->with_groups = with_groups;
  // A duplicate: the thread may outlive the loop's own descriptor.
  lookup->eventfd = fcntl(eventfd, F_DUPFD_CLOEXEC, 3);
  lookup->uid = uid;
  atomic_init(&lookup->holders, 2);
  atomic_init(&lookup->state, -EAGAIN);
  int failure = lookup->eventfd < 0;
  if (!failure) failure = credd_start_thread(run, lookup, 256 * 1024);
  if (failure) {
    if (lookup->eventfd >= 0) close(lookup->eventfd);
    free(lookup);
    return NULL;
  }
  return lookup;
}

int credd_lookup_take(struct credd_lookup *lookup, uid_t *uid, char *name, size_t capacity) {
  int state = atomic_load(&lookup->state);
  if (state != 1) return state;
  *uid = lookup->uid;
  size_t length = strlen(lookup->name);
  if (length >= capacity) return -ENAMETOOLONG;
  memcpy(name, lookup->name, length + 1);
  return 1;
}

const gid_t *credd_lookup_groups(struct credd_lookup *lookup, size_t *count) {
  *count = (size_t)lookup->group_count;
  return lookup->groups;
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
    return failure == 0 || failure == ENOENT || failure == ESRCH ? 0 : -failure;
  }
  return -ENOMEM;
}
