#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "CSandboxHTTP.h"

enum { BACKLOG = 1024, EVENTS = 256 };

static int stream_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// -errno, with the descriptor closed.
static int failed(int descriptor) {
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  return -error;
}

int csandbox_listen_tcp(uint16_t *port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(*port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int on = 1;
  int descriptor = stream_socket(AF_INET);
  if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(descriptor, (struct sockaddr *)&address, size) < 0 ||
      listen(descriptor, BACKLOG) < 0 ||
      getsockname(descriptor, (struct sockaddr *)&address, &size) < 0) {
    return failed(descriptor);
  }
  *port = ntohs(address.sin_port);
  return descriptor;
}

int csandbox_listen_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
  strcpy(address.sun_path, path);
  struct stat status;
  if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path);
  int descriptor = stream_socket(AF_UNIX);
  if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(descriptor, BACKLOG) < 0) {
    return failed(descriptor);
  }
  return descriptor;
}

int csandbox_poller(void) {
  int poller = epoll_create1(EPOLL_CLOEXEC);
  return poller < 0 ? -errno : poller;
}

int csandbox_watch(int poller, int descriptor, bool readable, uint64_t token) {
  struct epoll_event event = {.events = readable ? EPOLLIN : EPOLLRDHUP, .data.u64 = token};
  return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

void csandbox_unwatch(int poller, int descriptor) {
  epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, NULL);
}

int csandbox_wait(int poller, int milliseconds, uint64_t *tokens, int capacity) {
  struct epoll_event events[EVENTS];
  if (capacity > EVENTS) capacity = EVENTS;
  int count = epoll_wait(poller, events, capacity, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count; i++) tokens[i] = events[i].data.u64;
  return count;
}

int csandbox_signals(const sigset_t *signals) {
  int descriptor = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
}
