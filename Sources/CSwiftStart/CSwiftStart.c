#define _GNU_SOURCE
#include "CSwiftStart.h"

#include <sys/auxv.h>
#include <unistd.h>

// A function of Swift's library, from its shims/RuntimeShims.h: the arguments that it takes in place of
// /proc/self/cmdline.
extern void _swift_stdlib_overrideUnsafeArgvArgc(char **arguments, int count);

// With a path, the runtime does not look for one.
static char setting[] = "SWIFT_BACKTRACE=enable=no,swift-backtrace=/";
static char *of_runtime[] = {setting, NULL};
static char **own;

// Before the initialisers of a static runtime, which have no priority. In a program with a dynamic
// linker, such as that of the tests, the runtime has started already.
__attribute__((constructor(101))) static void start(int count, char **arguments) {
  if (getauxval(AT_BASE) != 0) return;
  own = environ;
  environ = of_runtime;
  _swift_stdlib_overrideUnsafeArgvArgc(arguments, count);
}

void credd_swift_started(void) {
  if (own != NULL) environ = own;
}
