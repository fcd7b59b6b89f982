// Kernel and libc calls that Swift cannot make well: variadic functions, calls missing from the
// Glibc module (accept4, eventfd, pidfds), packed structures, and code that must not be optimised
// away. Unless it says otherwise, a function returns -errno on failure, as systemd's do, so that no
// caller reads errno too late.
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

// A descriptor that becomes readable when the wall clock is set.
int credd_clock_watch(void);
// Arms the descriptor again: 1 if the clock was set since the last time, 0 if not, or -errno.
int credd_clock_watch_again(int descriptor);

// Overwrites memory; the compiler cannot remove the call.
void credd_wipe(void *memory, size_t length);

// Opens those of the descriptors 0 to 2 that are closed. Otherwise a socket could get such a
// number, and the log would be written to the socket.
int credd_open_standard_streams(void);
// No core dumps, no ptrace by processes of the same uid.
int credd_harden(void);
// Hardens a program that may call credd_become(): only the soft limit on core dumps is lowered, so
// that it can be raised again. A write to a closed pipe, or beyond RLIMIT_FSIZE, is an error, not a signal.
int credd_harden_client(void);
// Becomes another program, found in $PATH as by execvp(3), with core dumps and signals as they were
// before credd_harden_client(). Returns only on failure, with -errno.
int credd_become(const char *const *arguments, const char *const *environment);
// Raises the limit on open descriptors to the hard limit.
int credd_raise_descriptor_limit(void);
// fork(2), for a process with one thread: the child's pid, 0 in the child, or -errno.
int credd_fork(void);
// Makes a child end when `parent` does: -ESRCH if it has ended already.
int credd_end_with(pid_t parent);
// Ends this process, with status 0, when a descriptor becomes readable, whatever the process does: a
// thread waits for that. 0, or -errno.
int credd_end_when_readable(int descriptor);
// Lets nothing end this process that a terminal or a service manager sends to a whole group. Its standard
// input and output become /dev/null, so that a reader of the others' output sees its end. Closes what it
// has inherited, but the standard descriptors and these three, each of which may be -1: a pipe or a lock
// that its parent gives up must not stay open here.
void credd_stand_apart(int one, int two, int three);
// Forks a process that stands apart so, and is no child of this one: 1, 0 in that process, or -errno. Its
// parent is the init process, or what took that part (PR_SET_CHILD_SUBREAPER); this process, if it is that.
int credd_fork_apart(int one, int two, int three);
// Lets the next program of this process inherit a descriptor.
int credd_keep_open(int descriptor);
// Keeps all memory of the process, present and future, out of swap; its children do not inherit
// this. -EPERM if the process may neither raise nor ignore the limit on locked memory.
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
// Returns at most `capacity` ready descriptors. If `sleeps` is true, waits until there is one or a
// signal arrives.
int credd_epoll_wait(int epoll, struct credd_ready *ready, int capacity, bool sleeps);

// A counter that a thread uses to wake the loop.
int credd_eventfd(void);
int credd_eventfd_signal(int descriptor);
int credd_eventfd_drain(int descriptor);

// Sockets. Accepted and created descriptors are non-blocking and close-on-exec.
int credd_accept(int listener);
ssize_t credd_read(int descriptor, void *buffer, size_t length);
// send(MSG_NOSIGNAL): a closed connection is an error, not a SIGPIPE.
ssize_t credd_send(int descriptor, const void *buffer, size_t length);
// write() for pipes.
ssize_t credd_write(int descriptor, const void *buffer, size_t length);
void credd_close(int descriptor);
// Tells the kernel to refuse descriptors that clients of this listener pass (from Linux 6.16 on).
void credd_refuse_descriptors(int listener);
// Tells the kernel not to add the sender to each message (PassCredentials= of a socket unit). With
// that option, a read ends between the messages of two processes, so a short read would not mean
// that everything was read. Returns true if the option was set before; then clients that have
// already connected need this call too.
bool credd_refuse_senders(int socket);
// Whether the kernel lets descriptors through on this connection; then only credd_receive() may
// read it.
bool credd_may_carry_descriptors(int client);
// read(), but -EBADMSG if the next data carries descriptors; that data stays unread.
ssize_t credd_receive(int client, void *buffer, size_t length);
// Closes a connection without waiting, even if it has unread descriptors. After credd_receive()
// returned 0, there are none.
void credd_close_client(int client, bool may_carry_descriptors);
// A listening Unix stream socket at `path`. It replaces a stale socket file of a dead daemon.
// -EADDRINUSE if a process listens there, -EEXIST if another file is there.
int credd_listen(const char *path, mode_t mode, int backlog);
// Whether `descriptor` is a listening AF_UNIX stream socket: 1, 0 or -errno.
int credd_is_unix_listener(int descriptor);
// Whether `descriptor` is a socket of any kind: 1, 0 or -errno.
int credd_is_socket(int descriptor);

// The peer of a connection, as the kernel recorded it at connect().
struct credd_peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};
int credd_peer_credentials(int descriptor, struct credd_peer *peer);
// The uid of `name` in a file such as /etc/passwd: 1, 0 if it is not there, or -errno.
int credd_local_user(const char *path, const char *name, uid_t *uid);
// Whether this user namespace has every uid, as the host's own has.
bool credd_has_every_uid(void);
// Supplementary groups of the peer. `count` gets their number, even with -ERANGE.
int credd_peer_groups(int descriptor, gid_t *groups, uint32_t *count);

// A user of the host's database.
struct credd_user {
  uid_t uid;
  gid_t gid;
  char name[257];
  // The caller frees it; NULL if groups were not asked for.
  gid_t *groups;
  size_t group_count;
};
// Looks up a user by name, or by uid if `name` is NULL. May block for long, as NSS may ask a
// network. 1: found; 0: there is no such user; -errno: the database gave no answer.
int credd_look_up_user(uid_t uid, const char *name, bool with_groups, struct credd_user *user);
// The names of the host's users, or groups, each with a NUL after it, as many as fit: returns their
// bytes. May block for long; not for two threads at once.
size_t credd_list_names(bool of_groups, char *buffer, size_t size);
// Gives up root for good and becomes that user, without asking a database. Waits for all threads of
// the process, which become the user too. Unlocks the memory where the user may not lock it. 0 or
// -errno.
int credd_become_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count);
// The least stack that glibc gives on arm64; on amd64 it would give 16 KiB.
enum { CREDD_SMALL_STACK = 128 * 1024 };
// Starts a detached thread with all signals blocked, because the loop's thread handles signals. 0
// or an error number.
int credd_start_thread(void *(*run)(void *), void *argument, size_t stack_size);
// A group's id by name. May block: call it on a thread, or while the configuration is read. 1, 0 or
// -errno.
int credd_group_id(const char *name, gid_t *gid);

// The version of the kernel's Landlock, or -errno: -ENOSYS or -EOPNOTSUPP if it has none.
int credd_landlock_version(void);
// Gives up all rights that `rules` do not allow, for this thread and its children. It needs
// no_new_privs.
int credd_landlock_restrict(int rules);
// The most entries in each folder on the way to the hidden one: far more than /, /run and similar
// folders have.
#define CREDD_HIDDEN_BESIDE_MOST 16384
// Landlock rules (version 2) that allow reading, changing, making and removing files beneath every folder
// there is now, but in `folder` reading and changing of `names` alone, which end with NULL. In `folder`
// and directly in the folders that lead there nothing is made, moved or removed. Everything else remains
// allowed. Lists these folders, which may block. A descriptor, or -errno and the folder to blame.
int credd_rules_hiding(const char *folder, const char *const *names, char *where, size_t capacity);

// Runs a command with only the given arguments and environment. It has pipes as standard streams
// and a new process group; every other descriptor is closed, and signals are at their defaults. It
// has no ambient capabilities, can gain no privileges (no_new_privs), and is bound by the Landlock
// rules `rules`, unless that is -1. Blocks until the command runs, or until it is clear that it
// cannot.
struct credd_child {
  pid_t pid;
  int standard_input;
  int standard_output;
  int standard_error;
};
int credd_spawn(const char *const *arguments, const char *const *environment, int rules,
                struct credd_child *child);
// Kills a child that is not reaped yet, and the process group that it leads.
void credd_kill_group(pid_t leader);

// From now on SIGHUP, SIGINT, SIGQUIT and SIGTERM end the process no more, but are noted, and interrupt
// waits. False if they were noted already.
bool credd_note_ends(void);
// From now on they end the process again, at once if one was noted meanwhile.
void credd_let_ends_through(void);
// The last signal that was noted; 0 for none. The second forgets it.
int credd_noted_end(void);
int credd_take_noted_end(void);
// Ends the process in the way the signal would have done.
void credd_end_by(int number);

// Starts a program of the user, found in $PATH, in a new session, with only /dev/null and the
// environment: a browser, which outlives this process. The pid, or -errno.
pid_t credd_start_program(const char *const *arguments);
// Whether a child has ended with a status other than 0; this is reported only once: 1, 0 or -errno.
int credd_has_failed(pid_t child);

// The kernel's table of sockets (sock_diag(7)) says who made a TCP connection. For TCP, SO_PEERCRED
// gives a wrong answer without an error.
struct credd_socket_report {
  // Whether the report is about the socket at the other end of the connection, and not about
  // another socket that the kernel found for the question.
  bool is_of_other_end;
  uint8_t state;
  uid_t uid;
  uint32_t inode;
  bool has_control_group;
  uint64_t control_group;
};
int credd_diag_socket(void);
// Whether `descriptor` is such a socket: 1, 0 or -errno.
int credd_is_diag_socket(int descriptor);
// Drops messages that were sent to a socket before this process got it.
int credd_empty_diag_socket(int netlink);
// Asks for the other end of a connection. -ENOENT if there is no such socket in the network
// namespace of `netlink`, -ENOMSG if the kernel did not answer this question.
int credd_ask_other_end(int netlink, uint32_t sequence, int connection,
                        struct credd_socket_report *report);
// The state (enum tcp_state) of our own end of a connection, or -errno if it has no other end.
int credd_tcp_state(int connection);

// A loopback address and a port; 0 for any port. IPv6 has only one such address, ::1.
struct credd_tcp_name {
  bool is_ipv6;
  uint8_t ipv4[4];
  uint16_t port;
};
// Whether `descriptor` listens on a loopback address, by TCP: 1, 0 or -errno.
int credd_is_loopback_listener(int descriptor, struct credd_tcp_name *name);
// Listens there; `name` then has the port.
int credd_listen_loopback(struct credd_tcp_name *name, int backlog);
// Whether every user of this host may listen on that port (net.ipv4.ip_unprivileged_port_start): 1, 0
// or -errno.
int credd_port_is_open(uint16_t port);
// Connects to a listener at this address.
int credd_connect_loopback(const struct credd_tcp_name *name);
// Tells the other end that nothing more will come.
void credd_finish_sending(int connection);
// Drops what a TCP connection has received, up to so many bytes.
void credd_drop_input(int connection, size_t most);
// Lets the close of a TCP connection end it at both ends: neither keeps its port.
void credd_reset_on_close(int connection);
// Lets TCP send small pieces without waiting for more.
int credd_send_at_once(int connection);
// The name to which the peer of a Unix socket is bound, with its first NUL if it has one. Returns
// the number of bytes, 0 if the peer has no name, or -errno.
ssize_t credd_peer_name(int descriptor, void *name, size_t capacity);
// The name to which the socket itself is bound, likewise.
ssize_t credd_own_name(int descriptor, void *name, size_t capacity);

// The cookie of a socket's network namespace (Linux 5.14), or -errno.
int credd_network_namespace(int socket, uint64_t *cookie);

// Whether a cgroup2 file system is at `path`: 1, 0 or -errno.
int credd_is_cgroup2(const char *path);
// Looks below `root` for the control group with that id, its inode number: 1 and its path from
// there, 0 if there is none, or -errno, also if it was not found and some groups could not be looked
// at. Walks through all groups: call it on a thread.
int credd_control_group_path(const char *root, uint64_t id, char *path, size_t capacity);
int credd_inode(const char *path, uint64_t *inode);

// A pidfd of the peer as it was at connect() (Linux 6.5), or -errno.
int credd_peer_pidfd(int descriptor);
// A pidfd of the process that has that pid now, or -errno.
int credd_pidfd_open(pid_t pid);
// The real uid of a process and when it started, on CLOCK_BOOTTIME in nanoseconds rounded down to
// the kernel's tick. 0 or -errno.
int credd_process_facts(pid_t pid, uid_t *uid, int64_t *started);
// The uid that the kernel reports for users without a uid in this user namespace
// (user_namespaces(7)).
uid_t credd_overflow_uid(void);
// Facts that identify a file and its content, as far as the kernel knows them.
struct credd_file_facts {
  uint64_t device, inode;
  int64_t size, modified, changed;
};
// Opens the file that a process runs, readable if `content` is true, and gives its path.
// -ESTALE if that path leads to another file here: the file was replaced, or belongs to another
// mount namespace, in which users can mount any file at any path. -EACCES without CAP_SYS_PTRACE,
// unless the process belongs to this user and is dumpable (ptrace(2), PTRACE_MODE_READ_FSCREDS).
int credd_process_executable(pid_t pid, bool content, char *path, size_t capacity,
                             struct credd_file_facts *facts);
int credd_file_facts(int descriptor, struct credd_file_facts *facts);
// The facts of the file at a path. May block.
int credd_file_facts_at(const char *path, struct credd_file_facts *facts);
// Whether the process of a pidfd is still alive: 1, 0 or -errno.
int credd_pidfd_alive(int pidfd);
int credd_set_nonblocking(int descriptor);

// A file in memory that can be passed to another process; it cannot be executed or shortened.
int credd_memfd(const char *name);
// Whether `descriptor` is such a file: 1, 0 or -errno.
int credd_is_memfd(int descriptor);
// The next range of a file that is not a hole, from `from` on: 1, 0 if there is none, or -errno.
int credd_next_data(int descriptor, int64_t from, int64_t *begin, int64_t *end);
// Whether a descriptor's file system is in memory: 1, 0 or -errno.
int credd_is_in_memory(int descriptor);
// Creates `folder`/`name`, which only its owner can read; removes a file that has that name.
int credd_create_private(int folder, const char *name);
// Opens an existing private file. -EPERM unless it is a regular file of this user, has no other
// name, and can be read only by this user.
int credd_open_private(int folder, const char *name);
// pread() and pwrite() of all bytes; a read is short only at the end of the file.
ssize_t credd_read_at(int descriptor, void *buffer, size_t length, int64_t offset);
int credd_write_at(int descriptor, const void *bytes, size_t length, int64_t offset);
// Overwrites a range of a file with zeros and gives its pages back.
int credd_wipe_at(int descriptor, int64_t offset, int64_t length);
// Gives back the whole pages of a range whose content is no longer needed.
int credd_punch(int descriptor, int64_t offset, int64_t length);

// Replaces `folder`/`name` by `bytes`: writes a new file with mode 0600, syncs it, renames it, and
// syncs the folder. Blocks for as long as the disk does.
int credd_replace_file(const char *folder, const char *name, const void *bytes, size_t length);
// The content of a regular file, which the caller frees: at most `limit` bytes, and one more byte
// if the file is longer.
int credd_read_file(const char *path, size_t limit, char **bytes, size_t *length);
// Waits until a descriptor is readable: 1, 0 after that time, or -errno.
int credd_wait_readable(int descriptor, int milliseconds);
