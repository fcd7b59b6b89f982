#define _GNU_SOURCE
#include "CCrypto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "CLoad.h"

#define FUNCTIONS(X)                                                                              \
  X(EVP_sha256) X(EVP_Digest) X(HMAC)                                                             \
  X(EVP_MD_CTX_new) X(EVP_MD_CTX_free)                                                            \
  X(EVP_DigestInit_ex) X(EVP_DigestUpdate) X(EVP_DigestFinal_ex)                                  \
  X(EVP_CIPHER_CTX_new) X(EVP_CIPHER_CTX_free) X(EVP_aes_128_cbc)                                 \
  X(EVP_DecryptInit_ex) X(EVP_DecryptUpdate) X(EVP_DecryptFinal_ex)

// The version of the headers, which the distribution's libcurl is linked with too.
#define NAME_OF(major) "libcrypto.so." #major
#define NAME(major) NAME_OF(major)
#define SONAME NAME(OPENSSL_VERSION_MAJOR)
CREDD_DLOPEN_NOTE("crypto", "Backends that sign or decrypt, rules on programs by their digest",
                  "recommended", SONAME);

static struct {
#define X(name) __typeof__(name) *name;
  FUNCTIONS(X)
#undef X
} crypto;

static const char *load(void) {
#define X(name) {#name, &crypto.name},
  static const struct credd_symbol symbols[] = {FUNCTIONS(X)};
#undef X
  const char *problem = credd_load(SONAME, symbols, sizeof symbols / sizeof *symbols);
  if (problem) return problem;
  // Known answer: FIPS 180-2, B.1. A configuration of OpenSSL can disable algorithms.
  uint8_t digest[CREDD_SHA256_SIZE];
  static const uint8_t start[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
  if (credd_sha256("abc", 3, digest) < 0 || memcmp(digest, start, sizeof start) != 0)
    return "its SHA-256 does not work: see OpenSSL's configuration";
  return NULL;
}

int credd_crypto_load(char *reason, size_t size) {
  static struct credd_once once = CREDD_ONCE;
  return credd_load_once(&once, load, reason, size);
}

int credd_sha256(const void *data, size_t length, uint8_t digest[CREDD_SHA256_SIZE]) {
  return crypto.EVP_Digest(data, length, digest, NULL, crypto.EVP_sha256(), NULL) ? 0 : -1;
}

int credd_hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
                      uint8_t code[CREDD_SHA256_SIZE]) {
  if (key_length > INT_MAX) return -1;
  // With NULL as key, HMAC would continue with the last key.
  const void *some_key = key ? key : "";
  return crypto.HMAC(crypto.EVP_sha256(), some_key, (int)key_length, data, length, code, NULL)
             ? 0
             : -1;
}

int credd_aes128_cbc_decrypt(const uint8_t key[CREDD_AES_BLOCK_SIZE],
                             const uint8_t iv[CREDD_AES_BLOCK_SIZE], const void *data, int length,
                             uint8_t *text) {
  EVP_CIPHER_CTX *context = crypto.EVP_CIPHER_CTX_new();
  int most = 0, last = 0;
  int fits = context && crypto.EVP_DecryptInit_ex(context, crypto.EVP_aes_128_cbc(), NULL, key, iv) &&
             crypto.EVP_DecryptUpdate(context, text, &most, data, length) &&
             crypto.EVP_DecryptFinal_ex(context, text + most, &last);
  crypto.EVP_CIPHER_CTX_free(context);
  return fits ? most + last : -1;
}

static int add_file(EVP_MD_CTX *hash, int descriptor, int64_t size) {
  enum { PIECE = 256 << 10 };
  char *piece = malloc(PIECE);
  int64_t done = 0;
  while (piece && done < size) {
    ssize_t count = pread(descriptor, piece, PIECE, done);
    if (count < 0 && errno == EINTR) continue;
    if (count > size - done) count = size - done;
    if (count <= 0 || !crypto.EVP_DigestUpdate(hash, piece, (size_t)count)) break;
    done += count;
  }
  free(piece);
  return done == size ? 0 : -1;
}

int credd_sha256_file(int descriptor, int64_t size, uint8_t digest[CREDD_SHA256_SIZE]) {
  EVP_MD_CTX *hash = crypto.EVP_MD_CTX_new();
  int made = hash && crypto.EVP_DigestInit_ex(hash, crypto.EVP_sha256(), NULL) &&
             add_file(hash, descriptor, size) == 0 &&
             crypto.EVP_DigestFinal_ex(hash, digest, NULL);
  crypto.EVP_MD_CTX_free(hash);
  return made ? 0 : -1;
}
