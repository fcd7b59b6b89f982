#define _GNU_SOURCE
#include "CCallers.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

int ccallers_landlock_version(void) {
  // landlock_create_ruleset(2) has no function in the C library. 1 asks for the version.
  const long version = syscall(444, NULL, 0, 1);
  return version < 0 ? -errno : (int)version;
}

static int join(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/cgroup.procs", folder);
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  int result = write(file, "0", 1) < 0 ? -errno : 0;
  close(file);
  return result;
}

static int connected(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0) return -errno;
  return connect(client, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : client;
}

// Sends a result, and the descriptor where it is one.
static void hand_over(int lifeline, int result) {
  struct iovec part = {&result, sizeof result};
  char control[CMSG_SPACE(sizeof(int))] = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (result >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof result), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &result, sizeof result);
  }
  sendmsg(lifeline, &message, MSG_NOSIGNAL);
}

// Runs in the child: only calls that are safe after a fork of a process with threads.
static void live(const char *path, const struct ccallers_caller *caller, int lifeline) {
  int result = caller->control_group ? join(caller->control_group) : 0;
  if (result == 0 && (setgroups(caller->group_count, caller->groups) < 0 ||
                      setresgid(caller->gid, caller->gid, caller->gid) < 0 ||
                      setresuid(caller->uid, caller->uid, caller->uid) < 0))
    result = -errno;
  if (result == 0) result = connected(path);
  hand_over(lifeline, result);
  if (result < 0) _exit(1);
  // The test's own copy is the connection; this process has none of the test's descriptors.
  dup2(lifeline, 0);
  int null = open("/dev/null", O_WRONLY);
  dup2(null, 1);
  dup2(null, 2);
  syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
  char *const words[] = {(char *)caller->program, NULL};
  char *const environment[] = {NULL};
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(caller->program, words, environment);
  _exit(1);
}

static int received(int lifeline) {
  int result = -EPIPE;
  struct iovec part = {&result, sizeof result};
  char control[CMSG_SPACE(sizeof(int))] = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                           .msg_controllen = sizeof control};
  if (recvmsg(lifeline, &message, MSG_CMSG_CLOEXEC) <= 0) return -EPIPE;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (result >= 0 && head) memcpy(&result, CMSG_DATA(head), sizeof result);
  return result;
}

int ccallers_connect(const char *path, const struct ccallers_caller *caller, pid_t *pid,
                     int *lifeline) {
  int ends[2], started[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
  if (pipe2(started, O_CLOEXEC) < 0) return -errno;
  *pid = fork();
  if (*pid < 0) return -errno;
  if (*pid == 0) live(path, caller, ends[1]);
  close(ends[1]);
  close(started[1]);
  int result = received(ends[0]);
  // Its end is closed by execve(2): from then on the kernel names the program.
  char byte;
  while (read(started[0], &byte, 1) < 0 && errno == EINTR) {}
  close(started[0]);
  *lifeline = ends[0];
  if (result < 0) {
    close(ends[0]);
    waitpid(*pid, NULL, 0);
  }
  return result;
}

const short ccallers_spawn_in_session = POSIX_SPAWN_SETSID;

int ccallers_open_terminal(
    unsigned short columns, unsigned short rows, char *path, size_t capacity) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) return -errno;
  struct winsize size = {.ws_row = rows, .ws_col = columns};
  if (grantpt(terminal) || unlockpt(terminal) || ptsname_r(terminal, path, capacity) ||
      ioctl(terminal, TIOCSWINSZ, &size)) {
    int error = errno;
    close(terminal);
    return -error;
  }
  return terminal;
}
