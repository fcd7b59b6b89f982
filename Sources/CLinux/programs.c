// Programs that credctl starts for its user and does not watch.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int failure = 0;
  for (int stream = 0; stream <= 2 && !failure; stream++)
    failure = posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_RDWR, 0);
  // The browser gets no descriptor that the caller inherited, because it outlives the caller.
  if (!failure) failure = posix_spawn_file_actions_addclosefrom_np(actions, 3);
  if (!failure) failure = posix_spawnattr_setsigmask(attributes, &none);
  if (!failure) failure = posix_spawnattr_setsigdefault(attributes, &all);
  // The browser is detached from the terminal, so that Ctrl-C there does not end it.
  if (!failure)
    failure = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  return failure;
}

pid_t credd_start_program(const char *const *arguments) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  pid_t pid = -1;
  int failure = prepare(&actions, &attributes);
  if (!failure)
    failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, (char *const *)arguments,
                           environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failure ? -failure : pid;
}

int credd_has_failed(pid_t child) {
  int status = 0;
  pid_t ended = waitpid(child, &status, WNOHANG);
  if (ended < 0) return -errno;
  return ended == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
