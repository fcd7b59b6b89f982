// Debian's libunistring: composed forms of names, for which Foundation would bring all of ICU.
#include <uninorm.h>

// Swift cannot see UNINORM_NFC, a pointer to a type that is not declared whole.
static inline uint8_t *auth_composed(const uint8_t *text, size_t length, uint8_t *buffer, size_t *size) {
  return u8_normalize(UNINORM_NFC, text, length, buffer, size);
}
