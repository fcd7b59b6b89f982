// bare_epoll: the yardstick server. It makes only the system calls that any server needs (accept,
// epoll, read, write). It does not parse lines: every line gets the same reply.
//
//   bare_epoll SOCKET REPLY-FILE        SOCKET must not exist; ends on SIGTERM
#define _GNU_SOURCE
#include "yardstick.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  MAX_DESCRIPTORS = 32768,
  MAX_REPLY = 64 * 1024,
  REPEATS = 16, // copies of the reply in a row, so that one write answers a pipeline
  READ_SIZE = 64 * 1024,
  BATCH = 256,
};

static char replies[REPEATS * MAX_REPLY];
static size_t reply_length, replies_length;

/// Bytes still to be sent, by descriptor. The output is periodic, so this number also gives the
/// position in it: a slow reader needs no buffer.
static uint64_t unsent[MAX_DESCRIPTORS];

static void load_reply(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    FAIL(EXIT_USAGE, path);
  reply_length = fread(replies, 1, MAX_REPLY, file);
  fclose(file);
  if (reply_length == 0 || replies[reply_length - 1] != '\n') {
    fprintf(stderr, "%s: must be one line of at most %d bytes\n", path, MAX_REPLY);
    exit(EXIT_USAGE);
  }
  for (size_t i = 1; i < REPEATS; i++)
    memcpy(replies + i * reply_length, replies, reply_length);
  replies_length = REPEATS * reply_length;
}

static int listen_on(const char *path) {
  struct sockaddr_un address = unix_address(path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(fd, SOMAXCONN) < 0)
    FAIL(EXIT_UNAVAILABLE, path);
  return fd;
}

static void watch(int epoll, int operation, int fd, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(epoll, operation, fd, &event) < 0)
    FAIL(EXIT_SYSTEM, "epoll_ctl");
}

static void accept_all(int epoll, int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    if (fd >= MAX_DESCRIPTORS) {
      close(fd);
      continue;
    }
    unsent[fd] = 0;
    watch(epoll, EPOLL_CTL_ADD, fd, EPOLLIN);
  }
}

/// Sends unsent bytes, as far as the socket takes them. False: the peer has gone.
static bool settle(int fd) {
  while (unsent[fd] > 0) {
    size_t phase = (reply_length - unsent[fd] % reply_length) % reply_length;
    size_t span = replies_length - phase;
    ssize_t n = send(fd, replies + phase, unsent[fd] < span ? unsent[fd] : span, MSG_NOSIGNAL);
    if (n < 0)
      return errno == EAGAIN;
    unsent[fd] -= (uint64_t)n;
  }
  return true;
}

/// One turn of one client: reads once and answers every complete line. False: it has gone.
static bool serve(int epoll, int fd) {
  static char input[READ_SIZE];
  bool was_behind = unsent[fd] > 0;
  if (!was_behind) {
    ssize_t n = read(fd, input, sizeof input);
    if (n <= 0)
      return n < 0 && errno == EAGAIN;
    const char *end = input + n, *at = input;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
      unsent[fd] += reply_length;
      if (++at == end)
        break;
    }
  }
  if (!settle(fd))
    return false;
  bool is_behind = unsent[fd] > 0;
  if (is_behind != was_behind)
    watch(epoll, EPOLL_CTL_MOD, fd, is_behind ? EPOLLOUT : EPOLLIN);
  return true;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: bare_epoll SOCKET REPLY-FILE\n");
    return EXIT_USAGE;
  }
  load_reply(arguments[2]);
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  int listener = listen_on(arguments[1]), epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0)
    FAIL(EXIT_SYSTEM, "epoll_create1");
  watch(epoll, EPOLL_CTL_ADD, listener, EPOLLIN);

  struct epoll_event events[BATCH];
  for (;;) {
    int n = epoll_wait(epoll, events, BATCH, -1);
    if (n < 0 && errno != EINTR)
      FAIL(EXIT_SYSTEM, "epoll_wait");
    for (int i = 0; i < n; i++) {
      int fd = events[i].data.fd;
      if (fd == listener)
        accept_all(epoll, listener);
      else if (!serve(epoll, fd))
        close(fd);
    }
  }
}
