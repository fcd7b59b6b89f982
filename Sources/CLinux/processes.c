#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int credd_pidfd_open(pid_t pid) {
  // glibc has pidfd_open() only since 2.36.
  long pidfd = syscall(SYS_pidfd_open, pid, 0);
  return pidfd < 0 ? -errno : (int)pidfd;
}

int credd_fork(void) {
  pid_t child = fork();
  return child < 0 ? -errno : (int)child;
}

int credd_end_with(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return -errno;
  // It may have ended before that call.
  return getppid() == parent ? 0 : -ESRCH;
}

static void close_between(int first, int last) {
  if (first > last || close_range((unsigned)first, (unsigned)last, 0) == 0) return;
  // A kernel before 5.9.
  long most = sysconf(_SC_OPEN_MAX);
  for (int descriptor = first; descriptor <= last && descriptor < most; descriptor++)
    close(descriptor);
}

static void close_all_but(int one, int two, int three) {
  int kept[] = {one, two, three};
  int first = STDERR_FILENO + 1;
  // The lowest of those that are left, until none is.
  for (;;) {
    int next = INT_MAX;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
      if (kept[i] >= first && kept[i] < next) next = kept[i];
    close_between(first, next - 1);
    if (next == INT_MAX) return;
    first = next + 1;
  }
}

void credd_stand_apart(int one, int two, int three) {
  const int of_groups[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
  for (size_t i = 0; i < sizeof of_groups / sizeof *of_groups; i++) signal(of_groups[i], SIG_IGN);
  // A container may have no /dev; then it keeps them.
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO) close(nothing);
  }
  close_all_but(one, two, three);
}

int credd_fork_apart(int one, int two, int three) {
  // A caller that ignores SIGCHLD would have nothing to wait for.
  struct sigaction usual = {.sa_handler = SIG_DFL}, before;
  if (sigaction(SIGCHLD, &usual, &before) < 0) return -errno;
  pid_t between = fork();
  if (between == 0) {
    // Before this process ends, for which the caller waits: the caller's program finds it done.
    credd_stand_apart(one, two, three);
    pid_t apart = fork();
    if (apart != 0) _exit(apart < 0 ? errno : 0);
    sigaction(SIGCHLD, &before, NULL);
    return 0;
  }
  int status = 0, result = between < 0 ? -errno : 1;
  while (between > 0 && waitpid(between, &status, 0) < 0) {
    if (errno == EINTR) continue;
    result = -errno;
    break;
  }
  if (result > 0 && status != 0) result = WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
  sigaction(SIGCHLD, &before, NULL);
  return result;
}

int credd_keep_open(int descriptor) {
  return fcntl(descriptor, F_SETFD, 0) < 0 ? -errno : 0;
}

// Reads a file of /proc/PID into `buffer`, as a string.
static int read_process_file(pid_t pid, const char *name, char *buffer, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  ssize_t count = read(descriptor, buffer, capacity - 1);
  int failure = errno;
  close(descriptor);
  if (count < 0) return -failure;
  buffer[count] = 0;
  return 0;
}

uid_t credd_overflow_uid(void) {
  int descriptor = open("/proc/sys/kernel/overflowuid", O_RDONLY | O_CLOEXEC);
  char text[16] = "";
  ssize_t count = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
  if (descriptor >= 0) close(descriptor);
  unsigned uid;
  // 65534 is the kernel's default; it also serves if the sandbox hides /proc/sys.
  return count > 0 && sscanf(text, "%u", &uid) == 1 ? uid : 65534;
}

static void read_facts(const struct stat *status, struct credd_file_facts *facts) {
  *facts = (struct credd_file_facts){
      .device = status->st_dev,
      .inode = status->st_ino,
      .size = status->st_size,
      .modified = status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec,
      .changed = status->st_ctim.tv_sec * INT64_C(1000000000) + status->st_ctim.tv_nsec,
  };
}

int credd_file_facts(int descriptor, struct credd_file_facts *facts) {
  struct stat status;
  if (fstat(descriptor, &status) < 0) return -errno;
  read_facts(&status, facts);
  return 0;
}

int credd_file_facts_at(const char *path, struct credd_file_facts *facts) {
  struct stat status;
  if (stat(path, &status) < 0) return -errno;
  read_facts(&status, facts);
  return 0;
}

int credd_process_executable(pid_t pid, bool content, char *path, size_t capacity,
                             struct credd_file_facts *facts) {
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
  int descriptor = open(link, (content ? O_RDONLY | O_NONBLOCK : O_PATH) | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  struct stat running, there;
  ssize_t length = readlink(link, path, capacity - 1);
  int result = length < 0 || fstat(descriptor, &running) < 0 ? -errno : 0;
  if (result == 0) {
    path[length] = 0;
    // A path that is too long is cut. Then it leads to no file, or to another file.
    if (stat(path, &there) < 0 || there.st_dev != running.st_dev ||
        there.st_ino != running.st_ino || !S_ISREG(running.st_mode))
      result = -ESTALE;
  }
  if (result < 0) {
    close(descriptor);
    return result;
  }
  read_facts(&running, facts);
  return descriptor;
}

int credd_process_facts(pid_t pid, uid_t *uid, int64_t *started) {
  char text[4096];
  int result = read_process_file(pid, "stat", text, sizeof text);
  if (result < 0) return result;
  // The command's name is in brackets, and may itself contain brackets and blanks.
  const char *rest = strrchr(text, ')');
  uint64_t ticks;
  // Fields 3 to 22 of proc(5): the state, eighteen numbers, the start in clock ticks.
  if (!rest || sscanf(rest + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                      "%*d %" SCNu64,
                      &ticks) != 1)
    return -EPROTO;
  *started = (int64_t)(ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));

  result = read_process_file(pid, "status", text, sizeof text);
  if (result < 0) return result;
  const char *line = strstr(text, "\nUid:");
  unsigned real;
  if (!line || sscanf(line, "\nUid: %u", &real) != 1) return -EPROTO;
  *uid = real;
  return 0;
}
