#include "CLinux.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int64_t credd_boottime(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t credd_walltime(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// TFD_TIMER_CANCEL_ON_SET needs an absolute timer on the wall clock. This one is due in 2262.
static int arm_clock_watch(int descriptor) {
  const struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000}};
  int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
  return timerfd_settime(descriptor, flags, &never, NULL) < 0 ? -errno : 0;
}

int credd_clock_watch(void) {
  int descriptor = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) return -errno;
  int result = arm_clock_watch(descriptor);
  if (result == 0) return descriptor;
  close(descriptor);
  return result;
}

int credd_clock_watch_again(int descriptor) {
  uint64_t times;
  int was_set = read(descriptor, &times, sizeof times) < 0 && errno == ECANCELED;
  int result = arm_clock_watch(descriptor);
  return result < 0 ? result : was_set;
}
