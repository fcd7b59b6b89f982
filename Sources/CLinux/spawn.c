#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void close_pair(int pair[2]) {
  for (int i = 0; i < 2; i++)
    if (pair[i] >= 0) close(pair[i]);
}

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                   int input, int output, int error) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int failure = posix_spawn_file_actions_adddup2(actions, input, 0);
  if (!failure) failure = posix_spawn_file_actions_adddup2(actions, output, 1);
  if (!failure) failure = posix_spawn_file_actions_adddup2(actions, error, 2);
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(actions, 3);
  if (!failure) failure = posix_spawn_file_actions_addchdir_np(actions, "/");
  if (!failure) failure = posix_spawnattr_setsigmask(attributes, &none);
  if (!failure) failure = posix_spawnattr_setsigdefault(attributes, &all);
  if (!failure) failure = posix_spawnattr_setpgroup(attributes, 0);
  if (!failure)
    failure = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return failure;
}

// The limit on open descriptors of a command, which may raise it itself. systemd uses the same
// number, because programs with select(2) fail with more.
#define COMMAND_DESCRIPTORS 1024

// Two calls at once would take each other's lowered limit for the daemon's own.
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;

// posix_spawn() cannot set limits, so this lowers the daemon's own limit during the call, which is as
// long as a dead file server keeps the command's file. Open descriptors stay open; a thread that opens
// a file at that moment may have to try again.
static int spawn_limited(pid_t *pid, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, const char *const *arguments,
                         const char *const *environment) {
  struct rlimit own;
  if (getrlimit(RLIMIT_NOFILE, &own) < 0) return errno;
  struct rlimit lower = own;
  if (lower.rlim_cur > COMMAND_DESCRIPTORS) lower.rlim_cur = COMMAND_DESCRIPTORS;
  if (setrlimit(RLIMIT_NOFILE, &lower) < 0) return errno;
  int failure = posix_spawn(pid, arguments[0], actions, attributes, (char *const *)arguments,
                            (char *const *)environment);
  if (setrlimit(RLIMIT_NOFILE, &own) < 0 && !failure) {
    credd_kill_group(*pid);
    failure = errno;
  }
  return failure;
}

// The kernel keeps ambient capabilities, no_new_privs and Landlock's rules for each thread, and a
// child has those of the thread that makes it; posix_spawn() cannot change them. 0 or an error number.
static int give_up(int rules) {
  // EINVAL: a kernel before 4.3 has no ambient capabilities.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return errno;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
  return rules < 0 ? 0 : -credd_landlock_restrict(rules);
}

int credd_spawn(const char *const *arguments, const char *const *environment, int rules,
                struct credd_child *child) {
  int input[2] = {-1, -1}, output[2] = {-1, -1}, error[2] = {-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0) {
    int failure = errno;
    close_pair(input);
    close_pair(output);
    close_pair(error);
    return -failure;
  }
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int failure = prepare(&actions, &attributes, input[0], output[1], error[1]);
  if (!failure) failure = give_up(rules);
  if (!failure) {
    pthread_mutex_lock(&limit_lock);
    failure = spawn_limited(&child->pid, &actions, &attributes, arguments, environment);
    pthread_mutex_unlock(&limit_lock);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(input[0]);
  close(output[1]);
  close(error[1]);
  if (failure) {
    close(input[1]);
    close(output[0]);
    close(error[0]);
    return -failure;
  }
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
