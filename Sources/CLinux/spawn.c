#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0) close(pair[i]);
}

// The limit on open descriptors of a command; the command may raise it. systemd uses the same
// number, because programs with select(2) fail with more.
#define COMMAND_DESCRIPTORS 1024

static int limit_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
  if (limit.rlim_cur > COMMAND_DESCRIPTORS) limit.rlim_cur = COMMAND_DESCRIPTORS;
  return setrlimit(RLIMIT_NOFILE, &limit);
}

// The number of the child's descriptor that reports a failure.
#define REPORT 3

// Closes every descriptor except the standard ones. The report's descriptor closes when the command
// runs. If the command's file is on a dead file server, the others must not stay open meanwhile: a
// client would not see that the daemon closes its connection.
static int close_the_rest(int report) {
  if (report == REPORT) {
    if (fcntl(REPORT, F_SETFD, FD_CLOEXEC) < 0) return -1;
  } else if (dup3(report, REPORT, O_CLOEXEC) < 0) {
    return -1;
  }
  if (close_range(REPORT + 1, ~0U, 0) == 0) return 0;
  // A kernel before 5.9.
  long most = sysconf(_SC_OPEN_MAX);
  for (int descriptor = REPORT + 1; descriptor < most; descriptor++) close(descriptor);
  return 0;
}

// Gives up ambient capabilities and, with no_new_privs, the rights of set-user-ID programs.
static int give_up_privileges(int rules) {
  // EINVAL: a kernel before 4.3 has no ambient capabilities.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
  int failure = rules < 0 ? 0 : credd_landlock_restrict(rules);
  if (failure < 0) errno = -failure;
  return failure;
}

static int reset_signals(void) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  // This fails for the few signals that cannot be changed.
  for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL);
}

// In the child: becomes the command. Returns only on failure, with errno; *report is the descriptor
// to report it to.
static void become(const char *const *arguments, const char *const *environment,
                   const int streams[3], int rules, int *report) {
  if (setpgid(0, 0) < 0) return;
  for (int i = 0; i < 3; i++)
    if (dup2(streams[i], i) < 0) return;
  if (chdir("/") < 0 || limit_descriptors() < 0 || give_up_privileges(rules) < 0) return;
  if (close_the_rest(*report) < 0) return;
  *report = REPORT;
  if (reset_signals() < 0) return;
  execve(arguments[0], (char *const *)arguments, (char *const *)environment);
}

// Starts the command and waits until it runs. If its file is on a dead file server, that may take
// any time. 0 or an error number. posix_spawn() could not set a limit only for the child.
static int start(pid_t *pid, const char *const *arguments, const char *const *environment,
                 const int streams[3], int rules) {
  // A pipe that reports why the command does not run; it is closed as soon as the command runs.
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) return errno;
  // No signal handler of the daemon may run in the child, which shares the daemon's memory until it
  // runs the command.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = vfork();
  if (child == 0) {
    int told = report[1];
    become(arguments, environment, streams, rules, &told);
    int failure = errno;
    ssize_t sent = write(told, &failure, sizeof failure);
    _exit(sent == sizeof failure ? 127 : 126);
  }
  int failure = child < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (child >= 0 && read(report[0], &failure, sizeof failure) == sizeof failure)
    waitpid(child, NULL, 0);
  close(report[0]);
  *pid = child;
  return failure;
}

int credd_spawn(const char *const *arguments, const char *const *environment, int rules,
                struct credd_child *child) {
  int input[2] = {-1, -1}, output[2] = {-1, -1}, error[2] = {-1, -1};
  int failure = 0;
  if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
    failure = errno;
  if (!failure) {
    int streams[3] = {input[0], output[1], error[1]};
    failure = start(&child->pid, arguments, environment, streams, rules);
  }
  if (failure) {
    close_pair(input);
    close_pair(output);
    close_pair(error);
    return -failure;
  }
  close(input[0]);
  close(output[1]);
  close(error[1]);
  // Only our ends are non-blocking: the child expects ordinary pipes.
  fcntl(input[1], F_SETFL, O_NONBLOCK);
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  fcntl(error[0], F_SETFL, O_NONBLOCK);
  child->standard_input = input[1];
  child->standard_output = output[0];
  child->standard_error = error[0];
  return 0;
}

void credd_kill_group(pid_t leader) {
  kill(-leader, SIGKILL);
  // The process may have joined another group.
  kill(leader, SIGKILL);
}
