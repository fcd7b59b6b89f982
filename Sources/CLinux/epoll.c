#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int credd_epoll_create(void) {
  int descriptor = epoll_create1(EPOLL_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

static int control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return epoll_ctl(epoll, operation, descriptor, &event) < 0 ? -errno : 0;
}

int credd_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token) {
  return control(epoll, EPOLL_CTL_ADD, descriptor, events, token);
}

int credd_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token) {
  return control(epoll, EPOLL_CTL_MOD, descriptor, events, token);
}

int credd_epoll_remove(int epoll, int descriptor) {
  return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

int credd_epoll_wait(int epoll, struct credd_ready *ready, int capacity, bool sleeps) {
  struct epoll_event events[256];
  if (capacity > 256) capacity = 256;
  int count = epoll_wait(epoll, events, capacity, sleeps ? -1 : 0);
  if (count < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count; i++) {
    ready[i].token = events[i].data.u64;
    ready[i].events = events[i].events;
  }
  return count;
}

int credd_eventfd(void) {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
}

int credd_eventfd_signal(int descriptor) {
  uint64_t one = 1;
  return write(descriptor, &one, sizeof one) < 0 ? -errno : 0;
}

int credd_eventfd_drain(int descriptor) {
  uint64_t value;
  return read(descriptor, &value, sizeof value) < 0 ? -errno : 0;
}

int credd_wait_readable(int descriptor, int milliseconds) {
  struct pollfd entry = {.fd = descriptor, .events = POLLIN};
  int count = poll(&entry, 1, milliseconds);
  return count < 0 ? -errno : count;
}
