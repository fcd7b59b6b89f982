// Debian's libargon2: the password hash of RFC 9106.
#include <argon2.h>
