#include "COlderLibc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A newer libc.a has some of these in one file with what they call: its own ones are then taken.
#define WEAK __attribute__((weak))

// glibc 2.35 has a new version of it (errno is set otherwise). In double precision neither square nor
// their sum overflows, and one infinite argument makes the result infinite, also beside a NaN.
WEAK float hypotf(float x, float y) {
  if (__builtin_isinf(x) || __builtin_isinf(y)) return __builtin_inff();
  return (float)__builtin_sqrt((double)x * x + (double)y * y);
}

// glibc 2.38 has __isoc23_* for C of 2023, where a number may begin with 0b. The callers read
// environment variables and files of /proc, which have no such numbers. The declarations name the
// older functions themselves, because a newer <stdlib.h> would turn these calls into endless
// recursion.
extern long older_strtol(const char *text, char **end, int base) __asm__("strtol");
extern long long older_strtoll(const char *text, char **end, int base) __asm__("strtoll");
extern int older_vsscanf(const char *text, const char *format,
                         va_list values) __asm__("__isoc99_vsscanf");

WEAK long __isoc23_strtol(const char *text, char **end, int base) {
  return older_strtol(text, end, base);
}

WEAK long long __isoc23_strtoll(const char *text, char **end, int base) {
  return older_strtoll(text, end, base);
}

WEAK int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int count = older_vsscanf(text, format, values);
  va_end(values);
  return count;
}

// glibc has it since 2.38.
WEAK size_t strlcpy(char *to, const char *from, size_t size) {
  size_t length = strlen(from);
  if (size > 0) {
    size_t copied = length < size ? length : size - 1;
    memcpy(to, from, copied);
    to[copied] = '\0';
  }
  return length;
}

// std::__glibcxx_assert_fail(), which libstdc++ has since GCC 12. It tells of a mistake in Swift's own
// library, which ends the process.
WEAK void _ZSt21__glibcxx_assert_failPKciS0_S0_(const char *file, int line, const char *function,
                                                const char *condition) {
  (void)file, (void)line, (void)function;
  ssize_t written = write(STDERR_FILENO, condition, strlen(condition));
  (void)written;
  abort();
}
