// service: a service manager for one daemon; measures the time until the daemon serves.
//
//   service [--count N] --socket PATH [--ask LINE] -- COMMAND…
//
// Without --ask it starts the daemon again and again; each time counts from before the fork to
// READY=1. With --ask, it listens on PATH itself, and a client connects and asks before the daemon
// starts, as with a socket-activated unit; each time then counts to the end of the reply. It keeps
// the descriptors that the daemon stores (FDSTORE=1) and passes them to the next start. The first
// start finds no stored sessions and is not counted; all later replies must equal its reply. Prints
// a JSON array with every time in milliseconds.
#define _GNU_SOURCE
#include "yardstick.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  MAX_COUNT = 1000,
  MAX_STORED = 4, // descriptors
  MAX_NAME = 64,
  MAX_REPLY = 64 * 1024,
  FIRST_PASSED = 3, // SD_LISTEN_FDS_START
  LIFE_MS = 60000,  // limit for a daemon to serve, and to end
};

struct stored {
  int fd;
  char name[MAX_NAME];
};

struct notices {
  bool ready;
};

static const char *socket_path, *line;
static char **command;
static struct stored stored[MAX_STORED];
static size_t stored_count;
static int notify = -1, listener = -1;
static pid_t daemon_pid = -1;

static void give_up(const char *what) {
  fprintf(stderr, "service: %s\n", what);
  if (daemon_pid > 0)
    kill(daemon_pid, SIGKILL);
  exit(EXIT_UNAVAILABLE);
}

// --- Notifications of the daemon -----------------------------------------------------------------

static void store(const char *name, int fd) {
  if (stored_count == MAX_STORED || strlen(name) >= MAX_NAME)
    give_up("the daemon stored more descriptors than this keeps");
  strcpy(stored[stored_count].name, name);
  stored[stored_count++].fd = fd;
}

static void forget(const char *name) {
  for (size_t i = stored_count; i-- > 0;)
    if (strcmp(stored[i].name, name) == 0) {
      close(stored[i].fd);
      stored[i] = stored[--stored_count];
    }
}

/// Reads one message of sd_notify(3).
static void take_notice(struct notices *notices) {
  char text[4096], control[CMSG_SPACE(sizeof(int))];
  struct iovec piece = {.iov_base = text, .iov_len = sizeof text - 1};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t n = recvmsg(notify, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0)
    return;
  text[n] = '\0';
  int fd = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS)
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
  const char *name = "stored";
  bool keeps = false, drops = false;
  for (char *rest = text, *field; (field = strsep(&rest, "\n")) != NULL;) {
    notices->ready |= strcmp(field, "READY=1") == 0;
    keeps |= strcmp(field, "FDSTORE=1") == 0;
    drops |= strcmp(field, "FDSTOREREMOVE=1") == 0;
    if (strncmp(field, "FDNAME=", 7) == 0)
      name = field + 7;
  }
  if (drops)
    forget(name);
  if (keeps && fd >= 0 && line) // without --ask each start is a first one
    store(name, fd);
  else if (fd >= 0)
    close(fd);
}

// --- One life of the daemon ----------------------------------------------------------------------

/// In the child: puts the passed descriptors where the daemon expects them.
static void pass_descriptors(void) {
  int passed[MAX_STORED + 1], count = 0;
  char names[(MAX_STORED + 1) * (MAX_NAME + 1)] = "credd.socket", number[16];
  passed[count++] = listener;
  for (size_t i = 0; i < stored_count; i++) {
    passed[count++] = stored[i].fd;
    strcat(strcat(names, ":"), stored[i].name);
  }
  // Move all of them up first: one may have a number that another one needs.
  for (int i = 0; i < count; i++)
    passed[i] = fcntl(passed[i], F_DUPFD_CLOEXEC, FIRST_PASSED + MAX_STORED + 1);
  for (int i = 0; i < count; i++)
    dup2(passed[i], FIRST_PASSED + i);
  snprintf(number, sizeof number, "%d", count);
  setenv("LISTEN_FDS", number, 1);
  setenv("LISTEN_FDNAMES", names, 1);
  snprintf(number, sizeof number, "%d", (int)getpid());
  setenv("LISTEN_PID", number, 1);
}

static void start_daemon(void) {
  daemon_pid = fork();
  if (daemon_pid < 0)
    FAIL(EXIT_SYSTEM, "fork");
  if (daemon_pid > 0)
    return;
  if (listener >= 0)
    pass_descriptors();
  execv(command[0], command);
  _exit(127);
}

static void end_daemon(void) {
  kill(daemon_pid, SIGTERM);
  int status;
  alarm(LIFE_MS / 1000);
  if (waitpid(daemon_pid, &status, 0) < 0)
    FAIL(EXIT_SYSTEM, "waitpid");
  alarm(0);
  daemon_pid = -1;
  if (status != 0)
    give_up("the daemon did not end well");
  struct notices last = {0};
  for (struct pollfd heard = {.fd = notify, .events = POLLIN}; poll(&heard, 1, 0) == 1;)
    take_notice(&last);
}

/// Waits until one of the two descriptors is readable; `client` may be -1.
static void wait_for(int client, struct notices *notices, bool *has_reply) {
  struct pollfd events[2] = {{.fd = notify, .events = POLLIN}, {.fd = client, .events = POLLIN}};
  if (poll(events, 2, LIFE_MS) <= 0)
    give_up("the daemon did not serve in time");
  if (events[0].revents)
    take_notice(notices);
  *has_reply = events[1].revents != 0;
}

static uint64_t time_to_ready(void) {
  struct notices notices = {0};
  bool unused;
  uint64_t start = now_ns();
  start_daemon();
  while (!notices.ready)
    wait_for(-1, &notices, &unused);
  return now_ns() - start;
}

static uint64_t time_to_answer(char *reply, size_t *length) {
  struct sockaddr_un address = unix_address(socket_path);
  int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || connect(client, (struct sockaddr *)&address, sizeof address) < 0)
    FAIL(EXIT_SYSTEM, "connect");
  size_t request = strlen(line);
  struct notices notices = {0};
  uint64_t start = now_ns();
  if (send(client, line, request, MSG_NOSIGNAL) != (ssize_t)request ||
      send(client, "\n", 1, MSG_NOSIGNAL) != 1)
    FAIL(EXIT_SYSTEM, "send");
  start_daemon();
  *length = 0;
  while (*length == 0 || reply[*length - 1] != '\n') {
    bool has_reply;
    wait_for(client, &notices, &has_reply);
    if (!has_reply)
      continue;
    ssize_t n = read(client, reply + *length, MAX_REPLY - *length);
    if (n <= 0)
      give_up("no whole reply");
    *length += (size_t)n;
  }
  uint64_t taken = now_ns() - start;
  close(client);
  return taken;
}

// --- The run -------------------------------------------------------------------------------------

static void open_sockets(void) {
  // An abstract name of the kernel's choice.
  struct sockaddr_un own = {.sun_family = AF_UNIX};
  socklen_t length = sizeof own;
  notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (notify < 0 || bind(notify, (struct sockaddr *)&own, sizeof own.sun_family) < 0 ||
      getsockname(notify, (struct sockaddr *)&own, &length) < 0)
    FAIL(EXIT_SYSTEM, "notify socket");
  char name[sizeof own.sun_path + 1] = "@";
  memcpy(name + 1, own.sun_path + 1, length - sizeof own.sun_family - 1);
  setenv("NOTIFY_SOCKET", name, 1);
  if (!line)
    return;
  struct sockaddr_un address = unix_address(socket_path);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(listener, SOMAXCONN) < 0)
    FAIL(EXIT_SYSTEM, socket_path);
}

static void usage(void) {
  fprintf(stderr, "usage: service [--count N] --socket PATH [--ask LINE] -- COMMAND...\n");
  exit(EXIT_USAGE);
}

static long parse(char **at) {
  long count = 10;
  for (; at[0] && at[1] && strcmp(at[0], "--") != 0; at += 2) {
    if (strcmp(at[0], "--count") == 0)
      count = strtol(at[1], NULL, 10);
    else if (strcmp(at[0], "--socket") == 0)
      socket_path = at[1];
    else if (strcmp(at[0], "--ask") == 0)
      line = at[1];
    else
      usage();
  }
  if (!at[0] || !at[1] || !socket_path || count < 1 || count > MAX_COUNT)
    usage();
  command = at + 1;
  return count;
}

int main(int words, char **arguments) {
  (void)words;
  static char first[MAX_REPLY], reply[MAX_REPLY];
  size_t first_length = 0, length;
  long count = parse(arguments + 1);
  open_sockets();
  if (line) {
    time_to_answer(first, &first_length);
    if (!memmem(first, first_length, "\"Expiration\":", 13))
      give_up(first);
  } else {
    time_to_ready(); // fills the page cache
  }
  end_daemon();
  if (line && stored_count == 0)
    give_up("the daemon left no store");
  printf("[");
  for (long i = 0; i < count; i++) {
    uint64_t taken = line ? time_to_answer(reply, &length) : time_to_ready();
    if (line && (length != first_length || memcmp(reply, first, length) != 0))
      give_up("another reply than before the restart");
    printf("%s%.3f", i == 0 ? "" : ",", (double)taken / 1e6);
    end_daemon();
  }
  puts("]");
  return 0;
}
