// Swift's Glibc shows nothing that is GNU's own. _GNU_SOURCE in a header would change other modules.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/// The program that is started has no descriptor from this one on.
static inline int auth_close_from(posix_spawn_file_actions_t *actions, int descriptor) {
  return posix_spawn_file_actions_addclosefrom_np(actions, descriptor);
}

/// What the calling thread starts gets none of this program's capabilities, and no set-user-ID
/// program's. The thread itself keeps what it has.
static inline int auth_give_no_capabilities(void) {
  // EINVAL: a kernel that has none.
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL) return errno;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
}

/// A process that keeps the rights that the program had, for one file alone: the program gives up its
/// own before it opens what others can change.
struct auth_keeper {
  pid_t process;
  int orders;
};

// The name is given to the open file, which has a temporary one.
static inline int auth_publish(int file, int folder, const char *temporary, const char *name) {
  struct stat mine, there;
  if (linkat(folder, temporary, folder, name, 0) < 0) return errno;
  if (fstat(file, &mine) < 0 || fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
    return errno;
  fsync(folder);
  return mine.st_ino == there.st_ino && mine.st_dev == there.st_dev ? 0 : -1;
}

// After fork() in a program with threads: system calls alone.
static inline void auth_keep_on(int orders, int file, int folder, const char *temporary,
                                const char *name) {
  char order;
  int is_published = 0;
  while (read(orders, &order, 1) == 1) {
    int answer = 0;
    if (order == 'p' && !is_published) {
      answer = auth_publish(file, folder, temporary, name);
      is_published = answer == 0;
    } else if (order == 'w' && is_published) {
      answer = unlinkat(folder, name, 0) < 0 ? errno : 0;
      is_published = 0;
    }
    if (write(orders, &answer, sizeof answer) != sizeof answer) break;
  }
  unlinkat(folder, temporary, 0);
  _exit(0);
}

/// - Returns: 0 or an error's number.
static inline int auth_keep(int file, int folder, const char *temporary, const char *name,
                            struct auth_keeper *keeper) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return errno;
  // Whoever interrupts the program at a terminal interrupts all of its processes: this one removes the
  // temporary name first. It sees its program end.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    auth_keep_on(ends[1], file, folder, temporary, name);
  }
  int failure = process < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(ends[1]);
  if (failure) close(ends[0]);
  keeper->process = process;
  keeper->orders = ends[0];
  return failure;
}

/// 'p' gives the file its name, and 'w' takes it away again.
///
/// - Returns: 0, an error's number, or -1: another file has the name.
static inline int auth_order(const struct auth_keeper *keeper, char order) {
  int answer = 0;
  if (send(keeper->orders, &order, 1, MSG_NOSIGNAL) != 1) return errno;
  ssize_t count;
  do count = recv(keeper->orders, &answer, sizeof answer, MSG_WAITALL);
  while (count < 0 && errno == EINTR);
  return count == sizeof answer ? answer : EPIPE;
}

/// Waits until the temporary name is gone.
static inline void auth_dismiss(const struct auth_keeper *keeper) {
  close(keeper->orders);
  while (waitpid(keeper->process, NULL, 0) < 0 && errno == EINTR) {
  }
}
