// flood: a user that takes as much as possible from a Unix socket server, in five ways at once.
//
// One thread on one epoll. Each fifth of `--connections` does one of these: sends requests without
// end and reads every reply (pipelining); sends requests without end and never reads; sends a
// request byte by byte; sends long lines that never end; connects, asks and disconnects. A closed
// connection is opened again. With `--kind` all connections do the same; `--uid` runs the process
// as that user. It ends on SIGTERM.
#define _GNU_SOURCE
#include "yardstick.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 1000, BATCH = 128, PIPELINE = 256, SCRATCH = 64 * 1024 };

enum kind { PIPELINING, SLOW_READER, SLOW_WRITER, HALF_LINE, RECONNECTING, KINDS, MIXED = KINDS };
static const char *const kind_names[] = {"pipelining", "slow-reader", "slow-writer",
                                         "half-line", "reconnecting", "mixed"};

struct client {
  int fd;
  enum kind kind;
  size_t sent; // bytes of the current request
};

static struct sockaddr_un address;
static const char *line = "{}";
static char pipeline[SCRATCH], half[SCRATCH], scratch[SCRATCH];
static size_t line_length, pipeline_length;
static int epoll;

static void leave(struct client *client) {
  if (client->fd >= 0)
    close(client->fd);
  client->fd = -1;
}

static void come(struct client *client) {
  leave(client);
  client->sent = 0;
  client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (client->fd < 0)
    FAIL(EXIT_SYSTEM, "socket");
  if (connect(client->fd, (struct sockaddr *)&address, sizeof address) < 0) {
    // The backlog is full: the next round tries again.
    if (errno != EAGAIN)
      FAIL(EXIT_UNAVAILABLE, "connect");
    return leave(client);
  }
  uint32_t events = client->kind == SLOW_READER || client->kind == HALF_LINE
                        ? EPOLLOUT | EPOLLRDHUP
                        : EPOLLIN | EPOLLOUT | EPOLLRDHUP;
  struct epoll_event event = {.events = events, .data.ptr = client};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) < 0)
    FAIL(EXIT_SYSTEM, "epoll_ctl");
}

/// Sends the next part of `bytes`, and starts again at the end.
static void go_on(struct client *client, const char *bytes, size_t length, size_t most) {
  size_t left = length - client->sent;
  ssize_t n = send(client->fd, bytes + client->sent, left < most ? left : most, MSG_NOSIGNAL);
  if (n > 0)
    client->sent = (client->sent + (size_t)n) % length;
  else if (n < 0 && errno != EAGAIN)
    leave(client);
}

static void act(struct client *client, uint32_t events) {
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
    return leave(client);
  if (events & EPOLLIN && client->kind != SLOW_READER && client->kind != HALF_LINE) {
    ssize_t n = read(client->fd, scratch, sizeof scratch);
    if (n == 0 || (n < 0 && errno != EAGAIN) || client->kind == RECONNECTING)
      return leave(client);
  }
  if (!(events & EPOLLOUT))
    return;
  switch (client->kind) {
  case PIPELINING:
  case SLOW_READER: return go_on(client, pipeline, pipeline_length, SIZE_MAX);
  case SLOW_WRITER: return go_on(client, line, line_length, 1);
  case HALF_LINE: return go_on(client, half, sizeof half, SIZE_MAX);
  default:
    if (client->sent == 0)
      go_on(client, pipeline, line_length, SIZE_MAX);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
    if (client->fd >= 0)
      epoll_ctl(epoll, EPOLL_CTL_MOD, client->fd, &event);
  }
}

int main(int count, char **words) {
  static const struct option known[] = {
      {"socket", required_argument, 0, 's'}, {"connections", required_argument, 0, 'c'},
      {"kind", required_argument, 0, 'k'},   {"line", required_argument, 0, 'l'},
      {"uid", required_argument, 0, 'u'},    {0}};
  long connections = 50, uid = -1;
  int kind = MIXED, option;
  while ((option = getopt_long(count, words, "", known, 0)) != -1) {
    switch (option) {
    case 's': address = unix_address(optarg); break;
    case 'c': connections = strtol(optarg, 0, 10); break;
    case 'l': line = optarg; break;
    case 'u': uid = strtol(optarg, 0, 10); break;
    case 'k':
      for (kind = 0; kind <= MIXED && strcmp(kind_names[kind], optarg);)
        kind++;
      break;
    default: return EXIT_USAGE;
    }
  }
  if (!*address.sun_path || connections < 1 || connections > MAX_CONNECTIONS || kind > MIXED)
    return EXIT_USAGE;
  if (uid >= 0 && (setgroups(0, 0) < 0 || setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0))
    FAIL(EXIT_SYSTEM, "setuid");

  char *with_newline;
  if (asprintf(&with_newline, "%s\n", line) < 0)
    FAIL(EXIT_SYSTEM, "asprintf");
  line = with_newline;
  line_length = strlen(line);
  for (int i = 0; i < PIPELINE && pipeline_length + line_length <= sizeof pipeline; i++) {
    memcpy(pipeline + pipeline_length, line, line_length);
    pipeline_length += line_length;
  }
  memset(half, 'x', sizeof half);
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
    FAIL(EXIT_SYSTEM, "epoll_create1");
  static struct client clients[MAX_CONNECTIONS];
  for (long i = 0; i < connections; i++)
    clients[i] = (struct client){.fd = -1, .kind = kind == MIXED ? i % KINDS : (enum kind)kind};
  for (;;) {
    // A few closed connections are opened again in each round; RECONNECTING ones all at once.
    int returning = 8;
    for (long i = 0; i < connections; i++)
      if (clients[i].fd < 0 && (clients[i].kind == RECONNECTING || returning-- > 0))
        come(&clients[i]);
    struct epoll_event events[BATCH];
    int ready = epoll_wait(epoll, events, BATCH, 1);
    for (int i = 0; i < ready; i++) {
      struct client *client = events[i].data.ptr;
      if (client->fd >= 0)
        act(client, events[i].events);
    }
  }
}
