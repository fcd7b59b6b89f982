// Debian's libunistring: composed forms of names, for which Foundation would bring all of ICU, and scripts,
// of which Swift knows nothing.
#include <uninorm.h>
#include <unictype.h>

// Swift cannot see UNINORM_NFC, a pointer to a type that is not declared whole.
static inline uint8_t *auth_composed(const uint8_t *text, size_t length, uint8_t *buffer, size_t *size) {
  return u8_normalize(UNINORM_NFC, text, length, buffer, size);
}

static inline uint8_t *auth_compatible(const uint8_t *text, size_t length, uint8_t *buffer, size_t *size) {
  return u8_normalize(UNINORM_NFKC, text, length, buffer, size);
}

static inline const char *auth_script(uint32_t character) {
  const uc_script_t *script = uc_script(character);
  return script ? script->name : NULL;
}
