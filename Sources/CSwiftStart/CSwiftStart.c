#define _GNU_SOURCE
#include "CSwiftStart.h"

#include <sys/auxv.h>
#include <unistd.h>

// With a path, the runtime does not look for one.
static char setting[] = "SWIFT_BACKTRACE=enable=no,swift-backtrace=/";
static char *of_runtime[] = {setting, NULL};
static char **own;

static char **given;
static int given_count;

// CommandLine.arguments calls this function of Swift's library, from its shims/RuntimeShims.h. Since the
// program has one, the linker leaves out the library's, with what looks through /proc before main.
char **_swift_stdlib_getUnsafeArgvArgc(int *count);
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
  *count = given_count;
  return given;
}

// Before the initialisers of a static runtime, which have no priority. In a program with a dynamic
// linker, such as that of the tests, the runtime has started already.
__attribute__((constructor(101))) static void start(int count, char **arguments) {
  given = arguments;
  given_count = count;
  if (getauxval(AT_BASE) != 0) return;
  own = environ;
  environ = of_runtime;
}

void credd_swift_started(void) {
  if (own != NULL) environ = own;
}
