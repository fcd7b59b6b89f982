// What clients send may carry descriptors (SCM_RIGHTS), which credd has no use for. Dropping one is
// not free: a TCP socket with SO_LINGER keeps whoever drops the last reference waiting for as long
// as its maker likes, up to hours. No option of ours prevents that, and neither close() nor read()
// of the Unix socket can be told not to wait. So descriptors are not let in, where the kernel can do
// that, and else never dropped on the loop's thread.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

// Linux 6.16.
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

// Linux 6.5.
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

static bool stop_passing(int socket, int option) {
  int passes = 0, off = 0;
  socklen_t length = sizeof passes;
  return getsockopt(socket, SOL_SOCKET, option, &passes, &length) == 0 && passes &&
         setsockopt(socket, SOL_SOCKET, option, &off, sizeof off) == 0;
}

bool credd_refuse_senders(int socket) {
  bool passed_credentials = stop_passing(socket, SO_PASSCRED);
  return stop_passing(socket, SO_PASSPIDFD) || passed_credentials;
}

void credd_refuse_descriptors(int listener) {
  int off = 0;
  // Who connects from now on has it from the listener, before the first byte can be sent.
  setsockopt(listener, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

bool credd_may_carry_descriptors(int client) {
  // The kernel does not change while the daemon runs.
  static atomic_bool never_refused;
  int passes = 1, on = 1;
  socklen_t length = sizeof passes;
  if (!never_refused) {
    if (getsockopt(client, SOL_SOCKET, SO_PASSRIGHTS, &passes, &length) < 0)
      never_refused = errno == ENOPROTOOPT;
    else if (!passes)
      return false;
  }
  // Else the kernel would pass over out-of-band data, and drop what it carries, unseen.
  setsockopt(client, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
  return true;
}

ssize_t credd_receive(int client, void *buffer, size_t length) {
  struct iovec part = {buffer, length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  ssize_t count;
  // They must not be received either: the close() of a descriptor asks its file system, which may be
  // a user's (FUSE), to flush, and waits for the answer, whether or not it is the last one. A look
  // takes no descriptor and no last reference. It ends with the first piece that carries some, for
  // which there is no room here, which is said.
  do count = recvmsg(client, &message, MSG_PEEK | MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  if (message.msg_flags & MSG_CTRUNC) return -EBADMSG;
  return count == 0 ? 0 : credd_read(client, buffer, (size_t)count);
}

// Shared by the caller and one thread; the last of the two to let go frees it.
struct deferred_close {
  atomic_int holders;
  bool copied;
  sem_t begun, closed;
};

static void let_go(struct deferred_close *closing) {
  if (atomic_fetch_sub(&closing->holders, 1) > 1) return;
  sem_destroy(&closing->begun);
  sem_destroy(&closing->closed);
  free(closing);
}

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) < 0 && errno == EINTR) {
  }
}

// A table of descriptors of its own, so that this thread's end drops the last reference: a task
// that ends does not linger.
static void *hold_until_closed(void *argument) {
  struct deferred_close *closing = argument;
  closing->copied = unshare(CLONE_FILES) == 0;
  sem_post(&closing->begun);
  if (closing->copied) wait_for(&closing->closed);
  let_go(closing);
  return NULL;
}

// Closes a descriptor without ever waiting for what is dropped with it.
static void close_elsewhere(int descriptor) {
  struct deferred_close *closing = calloc(1, sizeof *closing);
  if (!closing) {
    close(descriptor);
    return;
  }
  atomic_init(&closing->holders, 2);
  sem_init(&closing->begun, 0, 0);
  sem_init(&closing->closed, 0, 0);
  if (credd_start_thread(hold_until_closed, closing, 64 * 1024) == 0) {
    wait_for(&closing->begun);
    close(descriptor);
    sem_post(&closing->closed);
  } else {
    close(descriptor);
    let_go(closing);
  }
  let_go(closing);
}

void credd_close_client(int client, bool may_carry_descriptors) {
  if (may_carry_descriptors) {
    char rest[4096];
    ssize_t count;
    // Nothing more comes; what is there is looked through.
    shutdown(client, SHUT_RDWR);
    do count = credd_receive(client, rest, sizeof rest);
    while (count > 0);
    credd_wipe(rest, sizeof rest);
    if (count == -EBADMSG) return close_elsewhere(client);
  }
  close(client);
}
