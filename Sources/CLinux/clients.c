// A client may send descriptors (SCM_RIGHTS), which credd does not use. Dropping a descriptor can
// take long: a process that drops the last reference to a TCP socket with SO_LINGER waits as long
// as the socket's owner has set, up to hours. No option of the Unix socket prevents that, and
// close() and read() cannot be told not to wait. So credd makes the kernel refuse descriptors. If
// the kernel cannot do that, the loop's thread never drops a descriptor.
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
  // New connections inherit the option from the listener, before their first byte can be sent.
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
  // Without this, the kernel would skip out-of-band data and drop its descriptors unseen.
  setsockopt(client, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
  return true;
}

ssize_t credd_receive(int client, void *buffer, size_t length) {
  struct iovec part = {buffer, length};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  ssize_t count;
  // credd must not receive descriptors: close() asks a descriptor's file system to flush and waits
  // for the answer, even if it is not the last reference. The file system may belong to a user
  // (FUSE). MSG_PEEK takes neither a descriptor nor a last reference. It stops at the first piece
  // of data with descriptors. There is no room for them here, so the kernel sets MSG_CTRUNC.
  do count = recvmsg(client, &message, MSG_PEEK | MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  if (message.msg_flags & MSG_CTRUNC) return -EBADMSG;
  return count == 0 ? 0 : credd_read(client, buffer, (size_t)count);
}

// Shared by the caller and one thread; the last holder frees it.
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

// This thread has its own table of descriptors, so that the end of the thread drops the last
// reference. The end of a task does not wait for SO_LINGER.
static void *hold_until_closed(void *argument) {
  struct deferred_close *closing = argument;
  closing->copied = unshare(CLONE_FILES) == 0;
  sem_post(&closing->begun);
  if (closing->copied) wait_for(&closing->closed);
  let_go(closing);
  return NULL;
}

// Closes a descriptor without waiting for the descriptors that are dropped with it.
static void close_elsewhere(int descriptor) {
  struct deferred_close *closing = calloc(1, sizeof *closing);
  if (!closing) {
    close(descriptor);
    return;
  }
  atomic_init(&closing->holders, 2);
  sem_init(&closing->begun, 0, 0);
  sem_init(&closing->closed, 0, 0);
  if (credd_start_thread(hold_until_closed, closing, CREDD_SMALL_STACK) == 0) {
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
    // After this no more data can arrive. The loop checks the data that has arrived.
    shutdown(client, SHUT_RDWR);
    do count = credd_receive(client, rest, sizeof rest);
    while (count > 0);
    credd_wipe(rest, sizeof rest);
    if (count == -EBADMSG) return close_elsewhere(client);
  }
  close(client);
}
