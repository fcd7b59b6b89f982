// Landlock (landlock(7)): a process gives up rights to files, for itself and what it starts, without
// any privilege. Its rules only allow. So, to keep a process from one folder, a rule is needed for
// everything else: whatever lies beside the path to that folder.
#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// From linux/landlock.h, which is missing or incomplete on hosts with older kernel headers. The
// numbers of the calls are the same on all architectures except Alpha.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define WANT_VERSION 1u
#define PATH_BENEATH 1
#define WRITE_FILE (1ull << 1)
#define READ_FILE (1ull << 2)
#define REMOVE (3ull << 4)
// Files of all seven kinds, folders among them.
#define MAKE (127ull << 6)
// To link or move files between folders. Every rule set takes that away, unless it says otherwise.
#define REFER (1ull << 13)
// Version 3, Linux 6.2. Before, whoever may write a file by its mode may cut it off.
#define TRUNCATE (1ull << 14)
#define OF_FILES (READ_FILE | WRITE_FILE | TRUNCATE)

struct rules_attributes {
  uint64_t handled_access_fs;
};
struct path_rule {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));

int credd_landlock_version(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, WANT_VERSION);
  return version < 0 ? -errno : (int)version;
}

int credd_landlock_restrict(int rules) {
  return syscall(SYS_landlock_restrict_self, rules, 0) < 0 ? -errno : 0;
}

// The rights that rules speak of; they take away those that no rule gives.
static uint64_t known_rights(void) {
  uint64_t rights = READ_FILE | WRITE_FILE | REMOVE | MAKE | REFER;
  return credd_landlock_version() >= 3 ? rights | TRUNCATE : rights;
}

static int allow(int rules, uint64_t rights, int descriptor) {
  struct path_rule rule = {.allowed_access = rights, .parent_fd = descriptor};
  if (syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &rule, 0) == 0) return 0;
  // A file other than a folder. Such a rule is of no use for a socket or a symbolic link, and does
  // no harm.
  rule.allowed_access = rights & OF_FILES;
  if (errno == EINVAL && syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &rule, 0) == 0)
    return 0;
  // EBADFD: the file is in a file system that Landlock does not restrict.
  return errno == EBADFD ? 0 : -errno;
}

// O_PATH opens nothing: it neither mounts what an automounter watches, nor asks a file server.
static int allow_entry(int rules, uint64_t rights, int folder, const char *name, int flags) {
  int entry = openat(folder, name, O_PATH | O_CLOEXEC | flags);
  if (entry < 0) {
    // The entry is gone, or the process could not open it either. Another error, such as a lack of
    // descriptors or memory, does not mean that the entry is out of reach: the rules could then
    // keep the process from /usr.
    bool is_out_of_reach =
        errno == ENOENT || errno == EACCES || errno == ELOOP || errno == ENOTDIR;
    return is_out_of_reach ? 0 : -errno;
  }
  int result = allow(rules, rights, entry);
  close(entry);
  return result;
}

// Allows everything in a folder but the entry `except`.
static int allow_others(int rules, uint64_t rights, int folder, const char *except) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return -errno;
  DIR *entries = fdopendir(copy);
  if (!entries) {
    int failure = errno;
    close(copy);
    return -failure;
  }
  int result = 0;
  for (int count = 0; result == 0; count++) {
    errno = 0;
    const struct dirent *entry = readdir(entries);
    if (!entry) {
      result = -errno;
      break;
    }
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, except) == 0) continue;
    if (count >= CREDD_HIDDEN_BESIDE_MOST)
      result = -E2BIG;
    else
      result = allow_entry(rules, rights, folder, name, O_NOFOLLOW);
  }
  closedir(entries);
  return result;
}

// Walks from / to `path` and allows what lies beside it. Gives `path` opened, or -errno and, in
// `where`, the folder to blame.
static int walk(int rules, uint64_t rights, char *path, char where[PATH_MAX]) {
  strcpy(where, "/");
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  char *rest = NULL;
  for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
    int result = allow_others(rules, rights, folder, name);
    int next = result < 0 ? result
                          : openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (result == 0 && next < 0) next = -errno;
    close(folder);
    if (next < 0) return next;
    folder = next;
    if (where[1]) strcat(where, "/");
    strcat(where, name);
  }
  return folder;
}

int credd_rules_hiding(const char *folder, const char *const *names, char *where, size_t capacity) {
  char path[PATH_MAX], walked[PATH_MAX] = "";
  const uint64_t rights = known_rights();
  const struct rules_attributes attributes = {.handled_access_fs = rights};
  int rules = -1, inside = -1, result = 0;
  if (!realpath(folder, path)) {
    result = -errno;
    strncpy(walked, folder, sizeof walked - 1);
  }
  if (result == 0) {
    rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    result = rules < 0 ? -errno : 0;
  }
  if (result == 0) {
    inside = walk(rules, rights, path, walked);
    result = inside < 0 ? inside : 0;
  }
  for (; result == 0 && *names; names++) result = allow_entry(rules, rights, inside, *names, 0);
  if (inside >= 0) close(inside);
  if (result == 0) return rules;
  if (rules >= 0) close(rules);
  if (capacity > 0) {
    strncpy(where, walked, capacity - 1);
    where[capacity - 1] = 0;
  }
  return result;
}
