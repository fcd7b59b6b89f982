// loadgen: the load generator for all servers that the benchmarks compare.
//
// A single thread keeps `connections` connections to a Unix socket, or to a port of loopback where the
// server speaks HTTP, busy on one epoll. Each sends
// `pipeline` requests in one write, reads all replies, and starts again; in `reconnect` mode each
// request has a connection of its own. Every reply is framed and checked, so that a server gains
// nothing by answering less: it must begin and end like the first reply, which must not be an
// error.
//
// With `--users FIRST` (as root) each connection belongs to another Unix user, one of
// `--user-count`.
//
// Latency counts from before the write (`reconnect`: before connect) to the read that gave the end
// of the reply. Logarithmic buckets hold it: exact to 1 %, without memory for each request.
#define _GNU_SOURCE
#include "yardstick.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  MAX_CONNECTIONS = 20000,
  MAX_PIPELINE = 1024,
  MAX_SECONDS = 3600,
  MAX_REQUEST = 512 * 1024,  // credd's own limit for a line
  REPLY_BUFFER = 64 * 1024,  // for each connection; a longer reply is an error
  SAMPLE = 24,               // bytes of the first reply; every reply must start with them
  HTTP_SAMPLE = 12,          // "HTTP/1.1 200": what follows may have the time in it
  CONNECT_SECONDS = 5,       // until a full backlog has room
  FIRST_REPLY_SECONDS = 30,  // enough for a cold session, which asks upstream first
  BATCH = 256,
  USER_STRIDE = 38977,       // a prime, so that the order of users has no pattern
  SUB_BUCKETS = 128,         // a power of two: steps of under 1 %
  BUCKETS = SUB_BUCKETS * 58, // enough for any 64-bit count of nanoseconds
};

struct options {
  const char *socket, *request_file, *line;
  long port; // of loopback, for HTTP; 0: the Unix socket
  long connections, pipeline;
  long first_user, user_count; // -1: the user that runs this program
  long server;                 // pid of the server, to read its processor time; 0: none
  long long count;
  double seconds, warm_up;
  bool reconnect, resp, json;
};

struct connection {
  int fd;
  uint32_t awaited; // replies
  size_t sent, held; // bytes sent of the batch; bytes in the buffer
  uint64_t started;
  bool waits_to_write;
  char *buffer;
};

static struct options options = {
    .connections = 50, .pipeline = 1, .first_user = -1, .user_count = 1, .count = -1,
    .seconds = 3, .warm_up = 0.5};
static struct sockaddr *address;
static socklen_t address_length;
static char *request; // `pipeline` requests in a row
static size_t request_length, batch_length;
static char first_reply[REPLY_BUFFER];
static size_t first_length, sample_length;
static int epoll;
static long alive;
static long long opened;

static struct {
  uint64_t replies, errors, started, ended, slowest;
  uint64_t server_ns; // at the start; after the run, the difference
  uint64_t replies_in_warm_up;
  uint64_t buckets[BUCKETS];
} measured;

// --- Latency -------------------------------------------------------------------------------------

static size_t bucket_of(uint64_t ns) {
  if (ns < SUB_BUCKETS)
    return ns;
  unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - 7; // 2^7 = SUB_BUCKETS
  return shift * SUB_BUCKETS + (ns >> shift);
}

/// The middle of a bucket, in microseconds.
static double bucket_value(size_t bucket) {
  if (bucket < 2 * SUB_BUCKETS)
    return (double)bucket / 1000;
  unsigned shift = (unsigned)(bucket / SUB_BUCKETS) - 1;
  uint64_t low = (uint64_t)(bucket - (size_t)shift * SUB_BUCKETS) << shift;
  return ((double)low + (double)(1ull << shift) / 2) / 1000;
}

static double percentile(double share) {
  uint64_t rank = (uint64_t)(share * (double)measured.replies), seen = 0;
  for (size_t i = 0; i < BUCKETS; i++) {
    seen += measured.buckets[i];
    if (seen > rank)
      return bucket_value(i);
  }
  return (double)measured.slowest / 1000;
}

static void record(uint64_t ns) {
  measured.replies++;
  measured.buckets[bucket_of(ns)]++;
  if (ns > measured.slowest)
    measured.slowest = ns;
}

// --- Replies -------------------------------------------------------------------------------------

/// Length of the complete reply at the start of `bytes`; 0: more bytes are needed; -1: not RESP.
static ssize_t frame_resp(const char *bytes, size_t length) {
  const char *end = memchr(bytes, '\n', length);
  if (!end)
    return 0;
  size_t head = (size_t)(end - bytes) + 1;
  if (bytes[0] != '$' || bytes[1] == '-')
    return (ssize_t)head; // one line: +OK, -ERR …, the null bulk
  size_t body = 0;
  for (const char *digit = bytes + 1; *digit != '\r'; digit++) {
    if (*digit < '0' || *digit > '9' || body > REPLY_BUFFER)
      return -1;
    body = body * 10 + (size_t)(*digit - '0');
  }
  return length >= head + body + 2 ? (ssize_t)(head + body + 2) : 0;
}

/// The same for an HTTP response that says how long it is.
static ssize_t frame_http(const char *bytes, size_t length) {
  static const char name[] = "\r\ncontent-length:";
  const char *end = memmem(bytes, length, "\r\n\r\n", 4);
  if (!end)
    return 0;
  for (const char *at = bytes; at < end; at++)
    if (strncasecmp(at, name, sizeof name - 1) == 0) {
      size_t body = strtoul(at + sizeof name - 1, NULL, 10);
      size_t whole = (size_t)(end - bytes) + 4 + body;
      return body > REPLY_BUFFER ? -1 : length >= whole ? (ssize_t)whole : 0;
    }
  return -1;
}

static ssize_t frame(const char *bytes, size_t length) {
  if (length == 0)
    return 0;
  if (options.port)
    return frame_http(bytes, length);
  if (options.resp)
    return frame_resp(bytes, length);
  const char *end = memchr(bytes, '\n', length);
  return end ? end - bytes + 1 : 0;
}

static bool is_like_first(const char *reply, size_t length) {
  return length > sample_length && memcmp(reply, first_reply, sample_length) == 0 &&
         memcmp(reply + length - 2, first_reply + first_length - 2, 2) == 0;
}

/// A socket for the server, with a limit for what blocks; -1 after an error.
static int open_socket(struct timeval limit) {
  int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
      (options.port && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0))
    return -1;
  return fd;
}

static bool is_good(ssize_t whole) {
  if (whole != (ssize_t)first_length || whole <= 3)
    return false;
  if (options.port)
    return memcmp(first_reply, "HTTP/1.1 200", HTTP_SAMPLE) == 0;
  if (options.resp)
    return first_reply[0] == '$' && first_reply[1] != '-';
  return first_reply[0] == '{' && first_reply[first_length - 2] == '}' &&
         !memmem(first_reply, first_length, "\"Error\":", 8);
}

/// Asks once, blocking, and keeps the reply to compare the others with it.
static void learn_first_reply(void) {
  struct timeval limit = {.tv_sec = FIRST_REPLY_SECONDS};
  int fd = open_socket(limit);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
      connect(fd, address, address_length) < 0)
    FAIL(EXIT_UNAVAILABLE, options.port ? "connect" : options.socket);
  for (size_t sent = 0; sent < request_length;) {
    ssize_t n = send(fd, request + sent, request_length - sent, MSG_NOSIGNAL);
    if (n < 0)
      FAIL(EXIT_UNAVAILABLE, "first request");
    sent += (size_t)n;
  }
  ssize_t whole;
  while ((whole = frame(first_reply, first_length)) == 0) {
    ssize_t n = read(fd, first_reply + first_length, sizeof first_reply - first_length);
    if (n < 0)
      FAIL(EXIT_UNAVAILABLE, "first reply");
    if (n == 0) {
      fprintf(stderr, "first reply: the connection ended or the reply is too long\n");
      exit(EXIT_UNAVAILABLE);
    }
    first_length += (size_t)n;
  }
  close(fd);
  if (!is_good(whole)) {
    fprintf(stderr, "first reply is an error: %.*s\n", (int)strnlen(first_reply, 200), first_reply);
    exit(EXIT_UNAVAILABLE);
  }
  size_t sample = options.port ? HTTP_SAMPLE : SAMPLE;
  sample_length = first_length - 2 < sample ? first_length - 2 : sample;
}

// --- Connections ---------------------------------------------------------------------------------

static void watch(int operation, struct connection *connection, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(epoll, operation, connection->fd, &event) < 0)
    FAIL(EXIT_SYSTEM, "epoll_ctl");
}

static void give_up(struct connection *connection) {
  measured.errors++;
  alive--;
  if (connection->fd >= 0)
    close(connection->fd);
  connection->fd = -1;
}

/// Sends what remains of the batch, as far as the socket takes it.
static void go_on_sending(struct connection *connection) {
  ssize_t n = send(connection->fd, request + connection->sent, batch_length - connection->sent,
                   MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN)
    return give_up(connection);
  connection->sent += n > 0 ? (size_t)n : 0;
  bool waits = connection->sent < batch_length;
  if (waits != connection->waits_to_write) {
    connection->waits_to_write = waits;
    watch(EPOLL_CTL_MOD, connection, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}

static void send_batch(struct connection *connection, uint64_t now) {
  connection->awaited = (uint32_t)options.pipeline;
  connection->sent = 0;
  connection->started = now;
  go_on_sending(connection);
}

/// Connects as the next user: the kernel tells the server the effective user at connect().
static int connect_as_next_user(int fd) {
  static long next;
  if (options.first_user < 0)
    return connect(fd, address, address_length);
  if (seteuid((uid_t)(options.first_user + next)) < 0)
    FAIL(EXIT_SYSTEM, "seteuid");
  next = (next + USER_STRIDE) % options.user_count;
  int result = connect(fd, address, address_length), error = errno;
  if (seteuid(0) < 0)
    FAIL(EXIT_SYSTEM, "seteuid");
  errno = error;
  return result;
}

static void open_connection(struct connection *connection) {
  uint64_t now = now_ns();
  struct timeval limit = {.tv_sec = CONNECT_SECONDS};
  opened++;
  int fd = connection->fd = open_socket(limit);
  // connect() blocks while the backlog is full, as for a real client. The backlog holds at most one
  // request of each connection, so a usual backlog is never full.
  if (fd < 0 || connect_as_next_user(fd) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
    return give_up(connection);
  connection->waits_to_write = false;
  connection->held = 0;
  watch(EPOLL_CTL_ADD, connection, EPOLLIN);
  send_batch(connection, now);
}

/// Takes complete replies out of the buffer. False: the buffer holds something else.
static bool take_replies(struct connection *connection, uint64_t now) {
  const char *at = connection->buffer;
  size_t left = connection->held;
  while (connection->awaited > 0) {
    ssize_t length = frame(at, left);
    if (length < 0)
      return false;
    if (length == 0)
      break;
    if (is_like_first(at, (size_t)length))
      record(now - connection->started);
    else
      measured.errors++;
    connection->awaited--;
    at += length;
    left -= (size_t)length;
  }
  if (left == REPLY_BUFFER || (left > 0 && connection->awaited == 0))
    return false;
  if (left > 0 && at != connection->buffer)
    memmove(connection->buffer, at, left);
  connection->held = left;
  return true;
}

static void receive(struct connection *connection) {
  ssize_t n = read(connection->fd, connection->buffer + connection->held,
                   REPLY_BUFFER - connection->held);
  if (n < 0 && errno == EAGAIN)
    return;
  if (n <= 0)
    return give_up(connection);
  connection->held += (size_t)n;
  uint64_t now = now_ns();
  if (!take_replies(connection, now))
    return give_up(connection);
  if (connection->awaited > 0)
    return;
  if (!options.reconnect)
    return send_batch(connection, now);
  close(connection->fd);
  connection->fd = -1;
  // With --count, open as many connections as replies are wanted, so each user asks once.
  if (options.count >= 0 && opened >= options.count)
    alive--;
  else
    open_connection(connection);
}

/// Processor time of all threads of the server, user and kernel, by the scheduler's count.
static uint64_t server_ns(void) {
  if (!options.server)
    return 0;
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", options.server);
  DIR *tasks = opendir(path);
  if (!tasks)
    FAIL(EXIT_UNAVAILABLE, path);
  uint64_t total = 0;
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    char file[sizeof path + sizeof task->d_name + 16];
    snprintf(file, sizeof file, "%s/%s/schedstat", path, task->d_name);
    FILE *stat = task->d_name[0] == '.' ? NULL : fopen(file, "r");
    unsigned long long ns;
    if (stat && fscanf(stat, "%llu", &ns) == 1)
      total += ns;
    if (stat)
      fclose(stat);
  }
  closedir(tasks);
  return total;
}

// --- The run -------------------------------------------------------------------------------------

static void start_measuring(uint64_t now) {
  uint64_t errors = measured.errors; // an error in the warm-up is still an error
  uint64_t replies = measured.replies;
  memset(&measured, 0, sizeof measured);
  measured.errors = errors;
  measured.replies_in_warm_up = replies;
  measured.server_ns = server_ns();
  measured.started = now;
}

static void run(struct connection *connections) {
  uint64_t now = now_ns(), measure_at = now + (uint64_t)(options.warm_up * 1e9);
  uint64_t end = measure_at + (uint64_t)(MAX_SECONDS * 1e9);
  // The warm-up connects as each user once, so that work for a new user is not measured.
  bool is_warm_up = options.first_user >= 0 && options.warm_up > 0, measuring = false;
  uint64_t users_to_meet = is_warm_up ? (uint64_t)options.user_count : 0;
  alive = options.connections;
  if (options.reconnect && options.count >= 0 && options.count < alive)
    alive = (long)options.count;
  for (long i = alive; i-- > 0;)
    open_connection(&connections[i]);
  struct epoll_event events[BATCH];
  while (alive > 0 && (now = now_ns()) < end) {
    if (!measuring && now >= measure_at && measured.replies >= users_to_meet) {
      measuring = true;
      start_measuring(now);
      end = now + (uint64_t)(options.seconds * 1e9);
    }
    if (measuring && options.count >= 0 && measured.replies >= (uint64_t)options.count)
      break;
    uint64_t until = !measuring && measure_at > now ? measure_at : end;
    int n = epoll_wait(epoll, events, BATCH, (int)((until - now) / 1000000) + 1);
    if (n < 0 && errno != EINTR)
      FAIL(EXIT_SYSTEM, "epoll_wait");
    for (int i = 0; i < n; i++) {
      struct connection *connection = events[i].data.ptr;
      if (connection->fd < 0)
        continue;
      if (events[i].events & EPOLLOUT)
        go_on_sending(connection);
      if (connection->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT)
        receive(connection);
    }
  }
  measured.ended = now_ns();
  if (!measuring)
    start_measuring(now);
  measured.server_ns = server_ns() - measured.server_ns;
}

static double processor_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void print_result(void) {
  double seconds = (double)(measured.ended - measured.started) / 1e9;
  double rate = seconds > 0 ? (double)measured.replies / seconds : 0;
  const char *format =
      options.json
          ? "{\"requests\":%llu,\"requests_in_warm_up\":%llu,\"errors\":%llu,\"seconds\":%.3f,"
            "\"requests_per_second\":%.0f,\"reply_bytes\":%zu,\"cpu_seconds\":%.3f,"
            "\"server_us\":%.3f,"
            "\"latency_us\":{\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"p99.9\":%.2f,"
            "\"max\":%.2f}}\n"
          : "%llu requests after %llu to warm up, %llu errors in %.3f s: %.0f/s of %zu bytes; "
            "%.3f s of processor, %.3f us of the server's each; p50 %.2f, p90 %.2f, p99 %.2f, "
            "p99.9 %.2f, max %.2f us\n";
  printf(format, (unsigned long long)measured.replies,
         (unsigned long long)measured.replies_in_warm_up, (unsigned long long)measured.errors,
         seconds, rate, first_length, processor_seconds(),
         measured.replies ? (double)measured.server_ns / 1000 / (double)measured.replies : 0,
         percentile(0.5), percentile(0.9), percentile(0.99), percentile(0.999),
         (double)measured.slowest / 1000);
}

// --- The command line ----------------------------------------------------------------------------

static void usage(void) {
  fprintf(stderr,
          "usage: loadgen (--socket PATH | --port PORT) (--request FILE | --line TEXT)\n"
          "  [--connections 50]\n"
          "  [--pipeline 1] [--seconds 3] [--warm-up 0.5] [--count N]\n"
          "  [--mode steady|reconnect] [--users FIRST --user-count N] [--server PID]\n"
          "  [--resp] [--json]\n"
          "--port: an HTTP server of loopback; FILE is a request\n"
          "--resp: the server is redis; TEXT is a command of words with spaces between them\n");
  exit(EXIT_USAGE);
}

static void parse(int count, char **arguments) {
  static const struct option names[] = {
      {"socket", 1, 0, 's'}, {"request", 1, 0, 'r'}, {"line", 1, 0, 'l'},
      {"connections", 1, 0, 'c'}, {"pipeline", 1, 0, 'p'}, {"seconds", 1, 0, 't'},
      {"warm-up", 1, 0, 'w'}, {"count", 1, 0, 'n'}, {"mode", 1, 0, 'm'},
      {"users", 1, 0, 'u'}, {"user-count", 1, 0, 'U'}, {"server", 1, 0, 'S'},
      {"port", 1, 0, 'P'}, {"resp", 0, 0, 'R'}, {"json", 0, 0, 'j'}, {0, 0, 0, 0}};
  for (int option; (option = getopt_long(count, arguments, "", names, NULL)) != -1;)
    switch (option) {
    case 's': options.socket = optarg; break;
    case 'r': options.request_file = optarg; break;
    case 'l': options.line = optarg; break;
    case 'c': options.connections = strtol(optarg, NULL, 10); break;
    case 'p': options.pipeline = strtol(optarg, NULL, 10); break;
    case 't': options.seconds = strtod(optarg, NULL); break;
    case 'w': options.warm_up = strtod(optarg, NULL); break;
    case 'n': options.count = strtoll(optarg, NULL, 10); break;
    case 'u': options.first_user = strtol(optarg, NULL, 10); break;
    case 'U': options.user_count = strtol(optarg, NULL, 10); break;
    case 'S': options.server = strtol(optarg, NULL, 10); break;
    case 'P': options.port = strtol(optarg, NULL, 10); break;
    case 'R': options.resp = true; break;
    case 'j': options.json = true; break;
    case 'm':
      options.reconnect = strcmp(optarg, "reconnect") == 0;
      if (!options.reconnect && strcmp(optarg, "steady") != 0)
        usage();
      break;
    default: usage();
    }
  if (optind != count || !options.socket == !options.port || options.port < 0 ||
      options.port > UINT16_MAX || !options.request_file == !options.line ||
      options.connections < 1 || options.connections > MAX_CONNECTIONS || options.pipeline < 1 ||
      options.pipeline > MAX_PIPELINE || options.user_count < 1 ||
      !(options.seconds > 0 && options.seconds <= MAX_SECONDS) ||
      !(options.warm_up >= 0 && options.warm_up <= MAX_SECONDS))
    usage();
}

static void find_address(void) {
  static struct sockaddr_un path;
  static struct sockaddr_in loopback;
  if (options.port) {
    loopback = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)options.port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address = (struct sockaddr *)&loopback;
    address_length = sizeof loopback;
  } else {
    path = unix_address(options.socket);
    address = (struct sockaddr *)&path;
    address_length = sizeof path;
  }
}

/// The request in RESP, redis's protocol: an array of bulk strings.
static size_t encode_resp(const char *text, char *into) {
  char *copy = strdup(text), *at = into, *rest = NULL;
  if (!copy)
    FAIL(EXIT_SYSTEM, "strdup");
  int words = 0;
  for (const char *c = text; *c; c++)
    words += *c != ' ' && (c == text || c[-1] == ' ');
  at += sprintf(at, "*%d\r\n", words);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
    at += sprintf(at, "$%zu\r\n%s\r\n", strlen(word), word);
  free(copy);
  return (size_t)(at - into);
}

static void build_request(void) {
  char *one = malloc(MAX_REQUEST);
  if (!one)
    FAIL(EXIT_SYSTEM, "malloc");
  if (options.request_file) {
    FILE *file = fopen(options.request_file, "rb");
    if (!file)
      FAIL(EXIT_USAGE, options.request_file);
    request_length = fread(one, 1, MAX_REQUEST, file);
    fclose(file);
  } else if (strlen(options.line) > MAX_REQUEST / 16) { // room for encode_resp's lengths
    usage();
  } else if (options.resp) {
    request_length = encode_resp(options.line, one);
  } else {
    request_length = (size_t)sprintf(one, "%s\n", options.line);
  }
  if (request_length == 0 || one[request_length - 1] != '\n') {
    fprintf(stderr, "the request must end in a newline\n");
    exit(EXIT_USAGE);
  }
  batch_length = request_length * (size_t)options.pipeline;
  if (!(request = malloc(batch_length)))
    FAIL(EXIT_SYSTEM, "malloc");
  for (size_t i = 0; i < batch_length; i += request_length)
    memcpy(request + i, one, request_length);
  free(one);
}

static struct connection *allocate_connections(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  struct connection *connections = calloc((size_t)options.connections, sizeof *connections);
  char *buffers = malloc((size_t)options.connections * REPLY_BUFFER);
  if (!connections || !buffers)
    FAIL(EXIT_SYSTEM, "malloc");
  for (long i = 0; i < options.connections; i++)
    connections[i].buffer = buffers + (size_t)i * REPLY_BUFFER;
  return connections;
}

int main(int count, char **arguments) {
  parse(count, arguments);
  find_address();
  build_request();
  learn_first_reply();
  if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
    FAIL(EXIT_SYSTEM, "epoll_create1");
  struct connection *connections = allocate_connections();
  run(connections);
  print_result();
  free(connections[0].buffer);
  free(connections);
  free(request);
  return measured.replies > 0 ? 0 : EXIT_UNAVAILABLE;
}
