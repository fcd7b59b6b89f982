// Debian's SQLite.
#include <errno.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
// Which kind of disk its files lie on; Swift has no module for that.
#include <sys/vfs.h>

// Swift does not see a macro that computes.
static const int auth_sqlite_constraint_trigger = SQLITE_CONSTRAINT_TRIGGER;
static const int auth_sqlite_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;
static const int auth_sqlite_ioerr_write = SQLITE_IOERR_WRITE;

// By the time that SQLite tells of a write that failed, EFBIG is gone.
static inline _Bool auth_has_file_size_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// What follows lets SQLite write a copy into a file that is open, where the process may not go by the
// file's name. The file's journal is kept nowhere: a copy that fails is thrown away.

struct auth_sqlite_file {
  sqlite3_file base;
  // -1: a journal.
  int descriptor;
};

static inline int auth_sqlite_descriptor(sqlite3_file *file) {
  return ((struct auth_sqlite_file *)file)->descriptor;
}

static inline int auth_sqlite_close(sqlite3_file *file) { return SQLITE_OK; }

static inline int auth_sqlite_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at) {
  int descriptor = auth_sqlite_descriptor(file), done = 0;
  while (descriptor >= 0 && done < size) {
    ssize_t count = pread(descriptor, (char *)to + done, size - done, at + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SQLITE_IOERR_READ;
    if (count == 0) break;
    done += count;
  }
  if (done == size) return SQLITE_OK;
  memset((char *)to + done, 0, size - done);
  return SQLITE_IOERR_SHORT_READ;
}

static inline int auth_sqlite_write(sqlite3_file *file, const void *from, int size,
                                    sqlite3_int64 at) {
  int descriptor = auth_sqlite_descriptor(file), done = 0;
  while (descriptor >= 0 && done < size) {
    ssize_t count = pwrite(descriptor, (const char *)from + done, size - done, at + done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    done += count;
  }
  return SQLITE_OK;
}

static inline int auth_sqlite_truncate(sqlite3_file *file, sqlite3_int64 size) {
  int descriptor = auth_sqlite_descriptor(file);
  return descriptor < 0 || ftruncate(descriptor, size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static inline int auth_sqlite_sync(sqlite3_file *file, int flags) {
  int descriptor = auth_sqlite_descriptor(file);
  return descriptor < 0 || fsync(descriptor) == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

static inline int auth_sqlite_size(sqlite3_file *file, sqlite3_int64 *size) {
  struct stat state = {0};
  int descriptor = auth_sqlite_descriptor(file);
  if (descriptor >= 0 && fstat(descriptor, &state) != 0) return SQLITE_IOERR_FSTAT;
  *size = state.st_size;
  return SQLITE_OK;
}

// Nobody else has the file.
static inline int auth_sqlite_lock(sqlite3_file *file, int level) { return SQLITE_OK; }

static inline int auth_sqlite_reserved(sqlite3_file *file, int *is_reserved) {
  *is_reserved = 0;
  return SQLITE_OK;
}

static inline int auth_sqlite_control(sqlite3_file *file, int operation, void *argument) {
  return SQLITE_NOTFOUND;
}

static inline int auth_sqlite_sector(sqlite3_file *file) { return 4096; }

static inline int auth_sqlite_device(sqlite3_file *file) { return 0; }

static inline int auth_sqlite_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                                   int *given) {
  static const sqlite3_io_methods methods = {
      .iVersion = 1,
      .xClose = auth_sqlite_close,
      .xRead = auth_sqlite_read,
      .xWrite = auth_sqlite_write,
      .xTruncate = auth_sqlite_truncate,
      .xSync = auth_sqlite_sync,
      .xFileSize = auth_sqlite_size,
      .xLock = auth_sqlite_lock,
      .xUnlock = auth_sqlite_lock,
      .xCheckReservedLock = auth_sqlite_reserved,
      .xFileControl = auth_sqlite_control,
      .xSectorSize = auth_sqlite_sector,
      .xDeviceCharacteristics = auth_sqlite_device,
  };
  int is_database = flags & SQLITE_OPEN_MAIN_DB;
  ((struct auth_sqlite_file *)file)->descriptor = is_database ? (int)(intptr_t)vfs->pAppData : -1;
  file->pMethods = &methods;
  if (given) *given = flags;
  return SQLITE_OK;
}

static inline int auth_sqlite_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
  return SQLITE_OK;
}

static inline int auth_sqlite_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  *result = 0;
  return SQLITE_OK;
}

static inline int auth_sqlite_path(sqlite3_vfs *vfs, const char *name, int size, char *path) {
  return snprintf(path, size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/// From now on `file:NAME?vfs=descriptor` is the open file, for one database at a time.
static inline int auth_sqlite_write_into(int descriptor) {
  static sqlite3_vfs vfs;
  sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
  if (!usual) return SQLITE_ERROR;
  // Time and randomness are the usual ones.
  if (!vfs.zName) vfs = *usual;
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(struct auth_sqlite_file);
  vfs.zName = "descriptor";
  vfs.pAppData = (void *)(intptr_t)descriptor;
  vfs.xOpen = auth_sqlite_open;
  vfs.xDelete = auth_sqlite_delete;
  vfs.xAccess = auth_sqlite_access;
  vfs.xFullPathname = auth_sqlite_path;
  return sqlite3_vfs_register(&vfs, 0);
}
