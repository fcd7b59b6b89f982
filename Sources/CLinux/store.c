// The file of stored sessions: memory that systemd keeps open while the daemon restarts.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

int credd_memfd(const char *name) {
  int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  // Linux before 6.3 does not know MFD_NOEXEC_SEAL.
  if (descriptor < 0 && errno == EINVAL)
    descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return -errno;
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
    int failure = -errno;
    close(descriptor);
    return failure;
  }
  return descriptor;
}

int credd_is_memfd(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) < 0) return -errno;
  return S_ISREG(status.st_mode) && fcntl(descriptor, F_GET_SEALS) >= 0;
}

int credd_is_in_memory(int descriptor) {
  struct statfs system;
  if (fstatfs(descriptor, &system) < 0) return -errno;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

int credd_create_private(int folder, const char *name) {
  if (unlinkat(folder, name, 0) < 0 && errno != ENOENT) return -errno;
  int descriptor = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  return descriptor < 0 ? -errno : descriptor;
}

int credd_open_private(int folder, const char *name) {
  int descriptor = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return -errno;
  struct stat status;
  int failure = fstat(descriptor, &status) < 0 ? -errno : 0;
  if (!failure && (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077 ||
                   status.st_nlink != 1))
    failure = -EPERM;
  if (!failure) return descriptor;
  close(descriptor);
  return failure;
}

int credd_next_data(int descriptor, int64_t from, int64_t *begin, int64_t *end) {
  off_t data = lseek(descriptor, from, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? 0 : -errno;
  off_t hole = lseek(descriptor, data, SEEK_HOLE);
  if (hole < 0) return -errno;
  *begin = data;
  *end = hole;
  return 1;
}

ssize_t credd_read_at(int descriptor, void *buffer, size_t length, int64_t offset) {
  size_t done = 0;
  while (done < length) {
    ssize_t n = pread(descriptor, (char *)buffer + done, length - done, offset + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    done += (size_t)n;
  }
  return (ssize_t)done;
}

int credd_write_at(int descriptor, const void *bytes, size_t length, int64_t offset) {
  size_t done = 0;
  while (done < length) {
    ssize_t n = pwrite(descriptor, (const char *)bytes + done, length - done, offset + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -errno;
    if (n == 0) return -EIO;
    done += (size_t)n;
  }
  return 0;
}

int credd_wipe_at(int descriptor, int64_t offset, int64_t length) {
  static const char zeros[64 << 10];
  int result = 0;
  for (int64_t done = 0; done < length && result == 0;) {
    int64_t left = length - done;
    size_t part = left < (int64_t)sizeof zeros ? (size_t)left : sizeof zeros;
    result = credd_write_at(descriptor, zeros, part, offset + done);
    done += (int64_t)part;
  }
  // Write zeros first: a page that is given back keeps its content until it is used again.
  int punched = credd_punch(descriptor, offset, length);
  // Beyond RLIMIT_FSIZE, which may have been lowered since, nothing can be written. A hole can be made, and
  // the file is zero there.
  return result == 0 || result == -EFBIG ? punched : result;
}

int credd_punch(int descriptor, int64_t offset, int64_t length) {
  if (length <= 0) return 0;
  int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return fallocate(descriptor, mode, offset, length) < 0 ? -errno : 0;
}
