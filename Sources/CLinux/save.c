#define _GNU_SOURCE
#include "CLinux.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Shared by the loop and one thread; the last of the two to let go frees it.
struct credd_save {
  atomic_int holders;
  atomic_int state;  // -EAGAIN until the thread is done
  int eventfd;
  char *folder;
  char *name;
  char *aside;
  char *bytes;
  size_t length;
};

void credd_save_release(struct credd_save *save) {
  if (atomic_fetch_sub(&save->holders, 1) > 1) return;
  if (save->eventfd >= 0) close(save->eventfd);
  free(save->folder);
  free(save->name);
  free(save->aside);
  free(save->bytes);
  free(save);
}

static int write_aside(int folder, const struct credd_save *save) {
  // A new file, whatever a former process or somebody else left of that name.
  int file = credd_create_private(folder, save->aside);
  if (file < 0) return file;
  int result = credd_write_at(file, save->bytes, save->length, 0);
  if (result == 0 && fsync(file) < 0) result = -errno;
  if (close(file) < 0 && result == 0) result = -errno;
  return result;
}

static int save_now(const struct credd_save *save) {
  int folder = open(save->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  int result = write_aside(folder, save);
  if (result == 0 && renameat(folder, save->aside, folder, save->name) < 0) result = -errno;
  if (result < 0)
    unlinkat(folder, save->aside, 0);
  else if (fsync(folder) < 0)
    result = -errno;
  close(folder);
  return result;
}

static void *run(void *argument) {
  struct credd_save *save = argument;
  atomic_store(&save->state, save_now(save));
  credd_eventfd_signal(save->eventfd);
  credd_save_release(save);
  return NULL;
}

struct credd_save *credd_save_start(const char *folder, const char *name, const void *bytes,
                                    size_t length, int eventfd) {
  struct credd_save *save = calloc(1, sizeof *save);
  if (!save) return NULL;
  // A duplicate: the thread may outlive the loop's own descriptor.
  save->eventfd = fcntl(eventfd, F_DUPFD_CLOEXEC, 3);
  save->folder = strdup(folder);
  save->name = strdup(name);
  save->bytes = malloc(length ? length : 1);
  save->length = length;
  if (asprintf(&save->aside, "%s.new", name) < 0) save->aside = NULL;
  atomic_init(&save->holders, 2);
  atomic_init(&save->state, -EAGAIN);
  if (save->eventfd >= 0 && save->folder && save->name && save->bytes && save->aside) {
    memcpy(save->bytes, bytes, length);
    if (credd_start_thread(run, save, 256 * 1024) == 0) return save;
  }
  atomic_store(&save->holders, 1);
  credd_save_release(save);
  return NULL;
}

int credd_save_take(struct credd_save *save) { return atomic_load(&save->state); }

int credd_read_file(const char *path, size_t limit, char **bytes, size_t *length) {
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -errno;
  struct stat status;
  int result = fstat(file, &status) < 0 ? -errno : 0;
  if (result == 0 && !S_ISREG(status.st_mode)) result = -EINVAL;
  // One byte more than may be there shows that there is more.
  size_t capacity = 0;
  if (result == 0)
    capacity = (size_t)status.st_size < limit ? (size_t)status.st_size : limit + 1;
  char *buffer = result == 0 ? malloc(capacity + 1) : NULL;
  if (result == 0 && !buffer) result = -ENOMEM;
  if (result == 0) {
    ssize_t count = credd_read_at(file, buffer, capacity, 0);
    if (count < 0) {
      result = (int)count;
      free(buffer);
    } else {
      *bytes = buffer;
      *length = (size_t)count;
    }
  }
  close(file);
  return result;
}

int credd_wait_readable(int descriptor, int milliseconds) {
  struct pollfd entry = {.fd = descriptor, .events = POLLIN};
  int count = poll(&entry, 1, milliseconds);
  return count < 0 ? -errno : count;
}
