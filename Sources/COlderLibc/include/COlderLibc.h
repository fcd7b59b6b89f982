// Functions that Swift's static library takes from a glibc above 2.34 or from a libstdc++ above that of
// GCC 11, which are those of Amazon Linux 2023 and RHEL 9. The linker takes these instead.
#pragma once

#include <stddef.h>

float hypotf(float x, float y);
long __isoc23_strtol(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...);
size_t strlcpy(char *to, const char *from, size_t size);
__attribute__((noreturn)) void _ZSt21__glibcxx_assert_failPKciS0_S0_(const char *file, int line,
                                                                     const char *function,
                                                                     const char *condition);
