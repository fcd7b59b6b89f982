#include "COlderLibc.h"

// glibc 2.35 has a new version of it (errno is set otherwise). In double precision neither square nor
// their sum overflows, and one infinite argument makes the result infinite, also beside a NaN.
float hypotf(float x, float y) {
  if (__builtin_isinf(x) || __builtin_isinf(y)) return __builtin_inff();
  return (float)__builtin_sqrt((double)x * x + (double)y * y);
}
