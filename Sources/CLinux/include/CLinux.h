// Kernel and libc calls that Swift cannot reach well: variadic functions, calls missing from the
// Glibc module (accept4, eventfd, pidfds), packed structures, and what must not be optimised away.
// Every function answers -errno on failure, as systemd's do, so that no caller reads errno late.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CREDD_EPOLL_IN 0x001u
#define CREDD_EPOLL_PRI 0x002u
#define CREDD_EPOLL_OUT 0x004u
#define CREDD_EPOLL_ERR 0x008u
#define CREDD_EPOLL_HUP 0x010u
#define CREDD_EPOLL_RDHUP 0x2000u
#define CREDD_EPOLL_ET 0x80000000u

// CLOCK_BOOTTIME in nanoseconds: monotonic, and counts suspended time.
int64_t credd_boottime(void);
// CLOCK_REALTIME in milliseconds since 1970.
int64_t credd_walltime(void);

// A descriptor that becomes readable when somebody sets the wall clock.
int credd_clock_watch(void);
// Arms it again: 1 where the clock was set since, 0 where not, or -errno.
int credd_clock_watch_again(int descriptor);

// Overwrites memory in a way the compiler may not drop.
void credd_wipe(void *memory, size_t length);

// Opens those of the descriptors 0 to 2 that are closed: a socket of that number would be written
// to by whoever logs.
int credd_open_standard_streams(void);
// No core dumps, no ptrace by processes of the same uid, descriptors up to the hard limit.
int credd_harden(void);
// The same for a program that credd_become() may turn into another: the limit on core dumps is
// lowered so that it can be raised again. A write to a closed pipe is an error, not a signal.
int credd_harden_client(void);
// Becomes another program, found in $PATH as execvp(3) does, with core dumps and SIGPIPE as they
// were before credd_harden_client(). Comes back with -errno where that fails.
int credd_become(const char *const *arguments, const char *const *environment);
int credd_raise_descriptor_limit(void);
// Keeps all memory of the process, present and future, out of swap; its children do not inherit
// that. -EPERM where the limit on locked memory can be neither lifted nor ignored.
int credd_lock_memory(void);


// One ready descriptor of an epoll instance, without the packed union of epoll_event.
struct credd_ready {
  uint64_t token;
  uint32_t events;
};
int credd_epoll_create(void);
int credd_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token);
int credd_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token);
int credd_epoll_remove(int epoll, int descriptor);
// What is ready, at most `capacity` of them; sleeps until there is some, or a signal came, if it may.
int credd_epoll_wait(int epoll, struct credd_ready *ready, int capacity, bool sleeps);

// A counter that a thread uses to wake the loop.
int credd_eventfd(void);
int credd_eventfd_signal(int descriptor);
int credd_eventfd_drain(int descriptor);

// Sockets. Accepted and created descriptors are non-blocking and close-on-exec.
int credd_accept(int listener);
ssize_t credd_read(int descriptor, void *buffer, size_t length);
// send(MSG_NOSIGNAL): a peer that left is an error, not a SIGPIPE.
ssize_t credd_send(int descriptor, const void *buffer, size_t length);
// write() for pipes.
ssize_t credd_write(int descriptor, const void *buffer, size_t length);
void credd_close(int descriptor);
// Has the kernel refuse descriptors that clients of this listener pass, where it can (Linux 6.16).
void credd_refuse_descriptors(int listener);
// Has the kernel not note with each message who sent it (PassCredentials= of a socket unit): a read
// would end between the messages of two processes, and less than was asked for would not mean that
// all was read. True where it did so before; clients that connected by then have to be told too.
bool credd_refuse_senders(int socket);
// Whether it lets them through on this connection, which then must be read by credd_receive() alone.
bool credd_may_carry_descriptors(int client);
// read(), but -EBADMSG where what comes next carries descriptors; it stays unread.
ssize_t credd_receive(int client, void *buffer, size_t length);
// Never waits, whatever descriptors lie unread in it, which none do after a credd_receive() that was 0.
void credd_close_client(int client, bool may_carry_descriptors);
// A listening Unix stream socket at `path`. A stale socket file of a dead daemon is replaced; a
// live one is -EADDRINUSE, anything else at the path -EEXIST.
int credd_listen(const char *path, mode_t mode, int backlog);
// Whether `descriptor` is a listening AF_UNIX stream socket: 1, 0 or -errno.
int credd_is_unix_listener(int descriptor);
// Whether `descriptor` is a socket of any kind: 1, 0 or -errno.
int credd_is_socket(int descriptor);

// Who is at the other end, as the kernel knows it at connect().
struct credd_peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};
int credd_peer_credentials(int descriptor, struct credd_peer *peer);
// Supplementary groups of the peer; answers their number or -ERANGE with the number in `count`.
int credd_peer_groups(int descriptor, gid_t *groups, uint32_t *count);

// A user of the host's database.
struct credd_user {
  uid_t uid;
  char name[257];
  // To be freed; NULL where groups were not asked for.
  gid_t *groups;
  size_t group_count;
};
// A user by name, or by uid where `name` is NULL; may block for long, as NSS may ask a network.
// 1: found; 0: there is no such user; -errno: the database did not say.
int credd_look_up_user(uid_t uid, const char *name, bool with_groups, struct credd_user *user);
// Starts a detached thread with all signals blocked, since signals are the loop's thread's; 0 or an
// error number.
int credd_start_thread(void *(*run)(void *), void *argument, size_t stack_size);
// A group's id by name; may block, so only while the configuration is read. 1, 0 or -errno.
int credd_group_id(const char *name, gid_t *gid);

// Runs a command with nothing but the given arguments and environment: pipes as standard streams,
// a process group of its own, every other descriptor closed, signals at their defaults.
struct credd_child {
  pid_t pid;
  int standard_input;
  int standard_output;
  int standard_error;
};
int credd_spawn(const char *const *arguments, const char *const *environment,
                struct credd_child *child);
// Kills a child that is not reaped yet, and the process group that it was started as.
void credd_kill_group(pid_t leader);

// A pidfd of the peer as it was at connect() (Linux 6.5), or -errno.
int credd_peer_pidfd(int descriptor);
// A pidfd of whichever process has that pid now, or -errno.
int credd_pidfd_open(pid_t pid);
// The real uid of a process and when it started, on CLOCK_BOOTTIME in nanoseconds rounded down to
// the kernel's tick. 0 or -errno.
int credd_process_facts(pid_t pid, uid_t *uid, int64_t *started);
// What the kernel calls users that have no number in this user namespace (user_namespaces(7)).
uid_t credd_overflow_uid(void);
// What tells a file and its content from all others, so far as the kernel can.
struct credd_file_facts {
  uint64_t device, inode;
  int64_t size, modified, changed;
};
// Opens the file that a process runs and tells its path; readable where `content` will be wanted.
// -ESTALE where that path leads to another file here: it was replaced, or is of another mount
// namespace, in which users mount what they like where they like. -EACCES without CAP_SYS_PTRACE,
// unless the process is this user's and dumpable (ptrace(2), PTRACE_MODE_READ_FSCREDS).
int credd_process_executable(pid_t pid, bool content, char *path, size_t capacity,
                             struct credd_file_facts *facts);
int credd_file_facts(int descriptor, struct credd_file_facts *facts);
// Whether the process of a pidfd still lives: 1, 0 or -errno.
int credd_pidfd_alive(int pidfd);
int credd_set_nonblocking(int descriptor);

// A file in memory that can be handed to another process; neither executable nor ever shorter.
int credd_memfd(const char *name);
// Whether `descriptor` is such a file: 1, 0 or -errno.
int credd_is_memfd(int descriptor);
// The next stretch of a file that is no hole, from `from` on: 1, 0 where there is none, or -errno.
int credd_next_data(int descriptor, int64_t from, int64_t *begin, int64_t *end);
// Whether a descriptor's file system is in memory: 1, 0 or -errno.
int credd_is_in_memory(int descriptor);
// A new file `folder`/`name`, readable by its owner alone; what has that name already is removed.
int credd_create_private(int folder, const char *name);
// An existing one, if it is a regular file of this user, of no other name, that nobody else may
// read; -EPERM if not.
int credd_open_private(int folder, const char *name);
// pread() and pwrite() of all of it; a read is short at the end of the file alone.
ssize_t credd_read_at(int descriptor, void *buffer, size_t length, int64_t offset);
int credd_write_at(int descriptor, const void *bytes, size_t length, int64_t offset);
// Overwrites a stretch of a file with zeros and gives its pages back.
int credd_wipe_at(int descriptor, int64_t offset, int64_t length);
// Gives back the whole pages of a stretch, which holds nothing any more.
int credd_punch(int descriptor, int64_t offset, int64_t length);

// Replaces `folder`/`name` by `bytes`: written aside with mode 0600, synced, renamed, and the folder
// synced. Blocks, and disks may hang.
int credd_replace_file(const char *folder, const char *name, const void *bytes, size_t length);
// A regular file's content, to be freed; at most `limit` bytes and one, which says there are more.
int credd_read_file(const char *path, size_t limit, char **bytes, size_t *length);
// Waits for a descriptor to become readable: 1, 0 when the time is over, or -errno.
int credd_wait_readable(int descriptor, int milliseconds);
