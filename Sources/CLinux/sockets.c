#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int credd_accept(int listener) {
  int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

ssize_t credd_read(int descriptor, void *buffer, size_t length) {
  for (;;) {
    ssize_t n = read(descriptor, buffer, length);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

ssize_t credd_send(int descriptor, const void *buffer, size_t length) {
  for (;;) {
    ssize_t n = send(descriptor, buffer, length, MSG_NOSIGNAL);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

ssize_t credd_write(int descriptor, const void *buffer, size_t length) {
  for (;;) {
    ssize_t n = write(descriptor, buffer, length);
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

void credd_close(int descriptor) { close(descriptor); }

static int fill_address(const char *path, struct sockaddr_un *address) {
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof address->sun_path) return -ENAMETOOLONG;
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(address->sun_path, path, length + 1);
  return 0;
}

// Removes the socket file of a daemon that has ended: no process listens on it.
static int remove_stale(const char *path, const struct sockaddr_un *address) {
  struct stat status;
  if (lstat(path, &status) < 0) return -errno;
  if (!S_ISSOCK(status.st_mode)) return -EEXIST;
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return -errno;
  int failed = connect(probe, (const struct sockaddr *)address, sizeof *address) < 0 ? errno : 0;
  close(probe);
  if (failed != ECONNREFUSED) return -EADDRINUSE;
  return unlink(path) < 0 ? -errno : 0;
}

// The umask belongs to the process: a second thread would save this one's temporary umask as the former one,
// and restore that.
static pthread_mutex_t changing_umask = PTHREAD_MUTEX_INITIALIZER;

int credd_listen(const char *path, mode_t mode, int backlog) {
  struct sockaddr_un address;
  int result = fill_address(path, &address);
  if (result < 0) return result;
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -errno;
  // bind() applies the umask, so the mode is set before any client can connect.
  pthread_mutex_lock(&changing_umask);
  mode_t old = umask((mode_t)(0777 & ~mode));
  int bound = bind(listener, (struct sockaddr *)&address, sizeof address);
  if (bound < 0 && errno == EADDRINUSE) {
    result = remove_stale(path, &address);
    bound = result < 0 ? -1 : bind(listener, (struct sockaddr *)&address, sizeof address);
    if (result < 0) errno = -result;
  }
  result = bound < 0 ? -errno : 0;
  umask(old);
  pthread_mutex_unlock(&changing_umask);
  if (result == 0 && listen(listener, backlog) < 0) result = -errno;
  if (result < 0) {
    close(listener);
    return result;
  }
  return listener;
}

int credd_is_unix_listener(int descriptor) {
  int value = 0;
  socklen_t length = sizeof value;
  struct sockaddr_storage address;
  socklen_t address_length = sizeof address;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) < 0)
    return errno == ENOTSOCK ? 0 : -errno;
  if (!value) return 0;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &value, &length) < 0) return -errno;
  if (value != SOCK_STREAM) return 0;
  if (getsockname(descriptor, (struct sockaddr *)&address, &address_length) < 0) return -errno;
  return address.ss_family == AF_UNIX;
}

int credd_is_socket(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) < 0 ? -errno : S_ISSOCK(status.st_mode);
}

int credd_peer_credentials(int descriptor, struct credd_peer *peer) {
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -errno;
  peer->pid = credentials.pid;
  peer->uid = credentials.uid;
  peer->gid = credentials.gid;
  return 0;
}

int credd_peer_groups(int descriptor, gid_t *groups, uint32_t *count) {
  socklen_t length = (socklen_t)(*count * sizeof(gid_t));
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0) {
    *count = (uint32_t)(length / sizeof(gid_t));
    return -errno;
  }
  *count = (uint32_t)(length / sizeof(gid_t));
  return 0;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int credd_peer_pidfd(int descriptor) {
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) < 0) return -errno;
  return pidfd;
}

int credd_pidfd_alive(int pidfd) {
  // A pidfd is readable once its process has ended.
  struct pollfd ended = {.fd = pidfd, .events = POLLIN};
  int count = poll(&ended, 1, 0);
  return count < 0 ? -errno : count == 0;
}

int credd_set_nonblocking(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
  return 0;
}
