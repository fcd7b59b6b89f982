// many_waiters: many clients wait for one cold session; measures the time until all have an answer.
//
//   many_waiters --socket PATH --line TEXT --clear TEXT --waiters N --rounds N
//                --listener FD --upstream PORT
//
// This program is all of the clients, and also a relay between the daemon and its upstream: the
// daemon's exchange comes to FD, a listening TCP socket, and goes on to PORT of this host. The
// relay holds the reply back until the daemon has read the requests of all clients. A round counts
// from the moment the relay sends the reply to the moment the last answer can be read. No client
// reads before that: with few processors, readers would slow the writer down. Between rounds
// `--clear` makes the session cold again. The yardstick is a process that only writes the same
// reply to as many sockets. Prints a JSON object; times are in milliseconds, wall clock and
// processor time.
#define _GNU_SOURCE
#include "yardstick.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  MAX_WAITERS = 10000,
  MAX_ROUNDS = 100,
  MAX_EXCHANGES = 8, // at once; there should be one
  MAX_BYTES = 64 * 1024,
  BATCH = 1024,
  ROUND_MS = 30000,
};

/// One connection of the daemon's, and the connection to upstream that belongs to it.
struct relay {
  int down, up;
  size_t held; // bytes of the reply
  char reply[MAX_BYTES];
};

static struct sockaddr_un address;
static struct sockaddr_in upstream = {.sin_family = AF_INET};
static const char *line, *clear;
static long waiters = 1000, rounds = 5;
static int listener = -1;
static int clients[MAX_WAITERS];
static struct relay relays[MAX_EXCHANGES];
static long exchanges;

/// The times of one round: from the exchange's end to the last answer.
struct taken {
  double clock, processor;
};

static void give_up(const char *what) {
  fprintf(stderr, "many_waiters: %s\n", what);
  exit(EXIT_UNAVAILABLE);
}

static void watch(int epoll, int fd, uint32_t events, uint32_t number) {
  struct epoll_event event = {.events = events, .data.u32 = number};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
    FAIL(EXIT_SYSTEM, "epoll_ctl");
}

static void send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);
    if (n <= 0)
      FAIL(EXIT_UNAVAILABLE, "send");
    bytes += n;
    length -= (size_t)n;
  }
}

// --- The daemon's upstream -----------------------------------------------------------------------

enum { LISTENER = MAX_EXCHANGES * 2 }; // its number in the relays' epoll; below: 2n down, 2n+1 up

static void open_relay(int epoll) {
  int n = 0;
  while (n < MAX_EXCHANGES && relays[n].down > 0)
    n++;
  if (n == MAX_EXCHANGES)
    give_up("too many connections to upstream");
  struct relay *relay = &relays[n];
  relay->down = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  relay->up = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (relay->down < 0 || relay->up < 0 ||
      connect(relay->up, (struct sockaddr *)&upstream, sizeof upstream) < 0)
    FAIL(EXIT_UNAVAILABLE, "upstream");
  int yes = 1;
  setsockopt(relay->down, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  relay->held = 0;
  watch(epoll, relay->down, EPOLLIN, (uint32_t)n * 2);
  watch(epoll, relay->up, EPOLLIN, (uint32_t)n * 2 + 1);
}

static void close_relay(struct relay *relay) {
  close(relay->down);
  close(relay->up);
  relay->down = relay->up = 0;
}

static bool is_whole(const struct relay *relay) {
  const char *end = memmem(relay->reply, relay->held, "\r\n\r\n", 4);
  const char *length = strcasestr(relay->reply, "content-length:");
  return end && length && length < end &&
         relay->held >= (size_t)(end + 4 - relay->reply) + strtoul(length + 15, NULL, 10);
}

/// Passes requests on, and keeps the replies.
static void relay_what_is_ready(int epoll, int milliseconds) {
  struct epoll_event events[MAX_EXCHANGES * 2 + 1];
  int n = epoll_wait(epoll, events, MAX_EXCHANGES * 2 + 1, milliseconds);
  for (int i = 0; i < n; i++) {
    uint32_t number = events[i].data.u32;
    if (number == LISTENER) {
      open_relay(epoll);
      continue;
    }
    struct relay *relay = &relays[number / 2];
    char request[MAX_BYTES];
    ssize_t length = 0;
    if (relay->down > 0 && number % 2 == 0) {
      length = read(relay->down, request, sizeof request);
      if (length > 0) {
        exchanges += length > 5 && memcmp(request, "POST ", 5) == 0;
        send_all(relay->up, request, (size_t)length);
      }
    } else if (relay->down > 0) {
      length = read(relay->up, relay->reply + relay->held, MAX_BYTES - 1 - relay->held);
      relay->held += length > 0 ? (size_t)length : 0;
      relay->reply[relay->held] = '\0';
    }
    if (length <= 0 && relay->down > 0)
      close_relay(relay);
  }
}

/// The relay that holds a whole reply, or NULL.
static struct relay *held_reply(void) {
  for (int i = 0; i < MAX_EXCHANGES; i++)
    if (relays[i].down > 0 && is_whole(&relays[i]))
      return &relays[i];
  return NULL;
}

// --- The clients ---------------------------------------------------------------------------------

static void connect_clients(void) {
  for (long i = 0; i < waiters; i++) {
    clients[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (clients[i] < 0 || connect(clients[i], (struct sockaddr *)&address, sizeof address) < 0)
      FAIL(EXIT_UNAVAILABLE, "connect");
  }
}

static void ask(int fd, const char *request) {
  send_all(fd, request, strlen(request));
  send_all(fd, "\n", 1);
}

/// Reads a whole reply; an error reply ends the program.
static size_t take_reply(int fd, char *reply) {
  size_t length = 0;
  while (length == 0 || reply[length - 1] != '\n') {
    ssize_t n = read(fd, reply + length, MAX_BYTES - length);
    if (n <= 0)
      give_up("no whole reply");
    length += (size_t)n;
  }
  if (memmem(reply, length, "\"Error\":", 8)) {
    reply[length - 1] = '\0';
    give_up(reply);
  }
  return length;
}

/// Whether the daemon has read all requests.
static bool are_read(void) {
  for (long i = 0; i < waiters; i++) {
    int unread;
    if (ioctl(clients[i], SIOCOUTQ, &unread) < 0)
      FAIL(EXIT_SYSTEM, "SIOCOUTQ");
    if (unread > 0)
      return false;
  }
  return true;
}

/// An epoll that reports each of `fds` once, when it can be read.
static int watch_all(const int *fds) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (long i = 0; i < waiters; i++)
    watch(epoll, fds[i], EPOLLIN | EPOLLONESHOT, (uint32_t)i);
  return epoll;
}

/// Processor time so far of a process with one thread, by the scheduler's count.
static uint64_t processor_ns(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
  FILE *file = fopen(path, "r");
  unsigned long long ns;
  if (!file || fscanf(file, "%llu", &ns) != 1)
    FAIL(EXIT_SYSTEM, path);
  fclose(file);
  return ns;
}

/// - Parameters:
///   - since: the start of the round, as now_ns() gives it.
///   - writer: the process that answers.
///   - spent: its processor time at `since`.
static struct taken time_until_all_can_read(int epoll, uint64_t since, pid_t writer,
                                            uint64_t spent) {
  static struct epoll_event events[BATCH];
  for (long ready = 0; ready < waiters;) {
    int n = epoll_wait(epoll, events, BATCH, ROUND_MS);
    if (n <= 0)
      give_up("not all were answered");
    ready += n;
  }
  uint64_t end = now_ns();
  return (struct taken){.clock = (double)(end - since) / 1e6,
                        .processor = (double)(processor_ns(writer) - spent) / 1e6};
}

// --- Rounds --------------------------------------------------------------------------------------

static pid_t daemon_pid(void) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(clients[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
    FAIL(EXIT_SYSTEM, "SO_PEERCRED");
  return peer.pid;
}

static struct taken measure(int relay_epoll, char *reply, size_t *length) {
  int arrivals = watch_all(clients);
  exchanges = 0;
  for (long i = 0; i < waiters; i++)
    ask(clients[i], line);
  uint64_t end = now_ns() + ROUND_MS * 1000000ull;
  struct relay *relay;
  while (!(relay = held_reply()) || !are_read()) {
    relay_what_is_ready(relay_epoll, 1);
    if (now_ns() > end)
      give_up("the daemon made no exchange, or did not read all requests");
  }
  pid_t writer = daemon_pid();
  uint64_t spent = processor_ns(writer), start = now_ns();
  send_all(relay->down, relay->reply, relay->held);
  relay->held = 0;
  struct taken taken = time_until_all_can_read(arrivals, start, writer, spent);
  close(arrivals);
  for (long i = 0; i < waiters; i++)
    *length = take_reply(clients[i], reply);
  relay_what_is_ready(relay_epoll, 0); // shows a second exchange, which would be a fault
  return taken;
}

/// The same for as many sockets and one reply, without a daemon.
static struct taken measure_bare(const char *reply, size_t length) {
  static int ours[MAX_WAITERS], theirs[MAX_WAITERS];
  int start_pipe[2];
  if (pipe(start_pipe) < 0)
    FAIL(EXIT_SYSTEM, "pipe");
  for (long i = 0; i < waiters; i++) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
      FAIL(EXIT_SYSTEM, "socketpair");
    ours[i] = pair[0], theirs[i] = pair[1];
  }
  pid_t child = fork();
  if (child < 0)
    FAIL(EXIT_SYSTEM, "fork");
  if (child == 0) {
    char byte;
    if (read(start_pipe[0], &byte, 1) != 1)
      _exit(EXIT_UNAVAILABLE);
    for (long i = 0; i < waiters; i++)
      if (send(theirs[i], reply, length, MSG_NOSIGNAL) != (ssize_t)length)
        _exit(EXIT_UNAVAILABLE);
    _exit(0);
  }
  int arrivals = watch_all(ours);
  uint64_t spent = processor_ns(child), start = now_ns();
  if (write(start_pipe[1], "", 1) != 1)
    FAIL(EXIT_SYSTEM, "write");
  struct taken taken = time_until_all_can_read(arrivals, start, child, spent);
  waitpid(child, NULL, 0);
  close(arrivals);
  close(start_pipe[0]);
  close(start_pipe[1]);
  for (long i = 0; i < waiters; i++) {
    close(ours[i]);
    close(theirs[i]);
  }
  return taken;
}

static void parse(int count, char **words) {
  static const struct option known[] = {
      {"socket", 1, 0, 's'}, {"line", 1, 0, 'l'},     {"clear", 1, 0, 'c'},
      {"waiters", 1, 0, 'w'}, {"rounds", 1, 0, 'r'},  {"listener", 1, 0, 'f'},
      {"upstream", 1, 0, 'u'}, {0, 0, 0, 0}};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;)
    switch (option) {
    case 's': address = unix_address(optarg); break;
    case 'l': line = optarg; break;
    case 'c': clear = optarg; break;
    case 'w': waiters = strtol(optarg, NULL, 10); break;
    case 'r': rounds = strtol(optarg, NULL, 10); break;
    case 'f': listener = (int)strtol(optarg, NULL, 10); break;
    case 'u': upstream.sin_port = htons((uint16_t)strtoul(optarg, NULL, 10)); break;
    default: exit(EXIT_USAGE);
    }
  if (!*address.sun_path || !line || !clear || waiters < 1 || waiters > MAX_WAITERS ||
      rounds < 1 || rounds > MAX_ROUNDS || listener < 0 || !upstream.sin_port) {
    fprintf(stderr, "usage: many_waiters --socket PATH --line TEXT --clear TEXT --waiters N\n"
                    "  --rounds N --listener FD --upstream PORT\n");
    exit(EXIT_USAGE);
  }
}

static void print(const char *before, const char *name, const double *values) {
  printf("%s\"%s\":[", before, name);
  for (long i = 0; i < rounds; i++)
    printf("%s%.3f", i == 0 ? "" : ",", values[i]);
  printf("]");
}

int main(int count, char **words) {
  static char reply[MAX_BYTES];
  static double asked[MAX_ROUNDS], clock[2][MAX_ROUNDS], processor[2][MAX_ROUNDS];
  size_t length;
  parse(count, words);
  upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int relay_epoll = epoll_create1(EPOLL_CLOEXEC);
  watch(relay_epoll, listener, EPOLLIN, LISTENER);
  connect_clients();
  measure(relay_epoll, reply, &length); // the first round is the sign-in, which makes more calls
  for (long i = 0; i < rounds; i++) {
    ask(clients[0], clear);
    take_reply(clients[0], reply);
    struct taken ours = measure(relay_epoll, reply, &length);
    asked[i] = (double)exchanges;
    struct taken bare = measure_bare(reply, length);
    clock[0][i] = ours.clock, processor[0][i] = ours.processor;
    clock[1][i] = bare.clock, processor[1][i] = bare.processor;
  }
  print("{", "exchanges", asked);
  print(",", "clock", clock[0]);
  print(",", "bare_clock", clock[1]);
  print(",", "processor", processor[0]);
  print(",", "bare_processor", processor[1]);
  puts("}");
  return 0;
}
