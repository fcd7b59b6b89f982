// Swift's Glibc shows nothing that is GNU's own. _GNU_SOURCE in a header would change other modules.
#include <spawn.h>

extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

/// The program that is started has no descriptor from this one on.
static inline int auth_close_from(posix_spawn_file_actions_t *actions, int descriptor) {
  return posix_spawn_file_actions_addclosefrom_np(actions, descriptor);
}
