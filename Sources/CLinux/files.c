#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_aside(int folder, const char *aside, const void *bytes, size_t length) {
  // Create a new file; a file that an earlier process left under that name is removed.
  int file = credd_create_private(folder, aside);
  if (file < 0) return file;
  int result = credd_write_at(file, bytes, length, 0);
  if (result == 0 && fsync(file) < 0) result = -errno;
  if (close(file) < 0 && result == 0) result = -errno;
  return result;
}

int credd_replace_file(const char *path, const char *name, const void *bytes, size_t length) {
  char aside[256];
  if (snprintf(aside, sizeof aside, "%s.new", name) >= (int)sizeof aside) return -ENAMETOOLONG;
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  int result = write_aside(folder, aside, bytes, length);
  if (result == 0 && renameat(folder, aside, folder, name) < 0) result = -errno;
  if (result < 0)
    unlinkat(folder, aside, 0);
  else if (fsync(folder) < 0)
    result = -errno;
  close(folder);
  return result;
}

int credd_read_file(const char *path, size_t limit, char **bytes, size_t *length) {
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -errno;
  struct stat status;
  int result = fstat(file, &status) < 0 ? -errno : 0;
  if (result == 0 && !S_ISREG(status.st_mode)) result = -EINVAL;
  // Read one byte more than the limit, to see whether the file is longer.
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
