#pragma once

#include <sys/types.h>

// Which user, and which program, a connection is made by.
struct ccallers_caller {
  uid_t uid;
  gid_t gid;
  const gid_t *groups;
  size_t group_count;
  // The folder of a control group to join first; NULL for none.
  const char *control_group;
  // What the process runs from then on. It reads its standard input to the end, as cat(1) does.
  const char *program;
};

// The version of Landlock that the kernel has, or -errno.
int ccallers_landlock_version(void);

// Connects to a Unix socket by a process of its own, which lives until `lifeline` is closed. Here,
// because Swift has no fork(2), and the kernel names the process that called connect(2).
//
// Returns the connection's descriptor, or -errno.
int ccallers_connect(const char *path, const struct ccallers_caller *caller, pid_t *pid,
                     int *lifeline);

// The flag of posix_spawnattr_setflags(3) for a session of its own; Swift sees it not, nor the
// functions behind the next one.
extern const short ccallers_spawn_in_session;

// Makes a terminal of so many columns and rows. Returns the descriptor of the side that types at it, or
// -errno; `path` gets the name of the other side.
int ccallers_open_terminal(unsigned short columns, unsigned short rows, char *path,
                           size_t capacity);
