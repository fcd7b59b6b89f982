#define _GNU_SOURCE
#include "CCrypto.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "CLoad.h"

#define FUNCTIONS(X)                                                                              \
  X(EVP_sha256) X(EVP_Digest) X(HMAC)                                                             \
  X(EVP_MD_CTX_new) X(EVP_MD_CTX_free)                                                            \
  X(EVP_DigestInit_ex) X(EVP_DigestUpdate) X(EVP_DigestFinal_ex)                                  \
  X(EVP_CIPHER_CTX_new) X(EVP_CIPHER_CTX_free) X(EVP_aes_128_cbc)                                 \
  X(EVP_DecryptInit_ex) X(EVP_DecryptUpdate) X(EVP_DecryptFinal_ex)                              \
  X(BN_secure_new) X(BN_clear_free) X(BN_set_flags) X(BN_CTX_secure_new) X(BN_CTX_free)           \
  X(BN_bin2bn) X(BN_bn2binpad) X(BN_is_zero) X(BN_add) X(BN_mul)                                  \
  X(BN_mod_mul) X(BN_mod_sub) X(BN_mod_exp_mont_consttime)                                       \
  X(BIO_new_mem_buf) X(BIO_free) X(PEM_read_bio_PrivateKey) X(EVP_PKEY_free) X(EVP_PKEY_get_id)   \
  X(EVP_PKEY_get_bits) X(EVP_PKEY_get_group_name) X(EVP_DigestSignInit) X(EVP_DigestSign)         \
  X(d2i_ECDSA_SIG) X(ECDSA_SIG_get0) X(ECDSA_SIG_free) X(ERR_clear_error)                         \
  X(PEM_read_bio_X509) X(X509_check_private_key) X(X509_free) X(PEM_read_bio) X(d2i_X509)         \
  X(d2i_X509_AUX) X(BIO_ctrl) X(ERR_peek_last_error) X(CRYPTO_free)

// The version of the headers. The distribution's libcurl is linked with the same version.
#define NAME_OF(major) "libcrypto.so." #major
#define NAME(major) NAME_OF(major)
#define SONAME NAME(OPENSSL_VERSION_MAJOR)
CREDD_DLOPEN_NOTE("crypto", "Backends that sign or decrypt, user pools, rules on programs by their digest",
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

// The numbers of one computation.
struct srp {
  BN_CTX *between;  // OpenSSL's intermediate results; BN_CTX_free() overwrites them
  BIGNUM *prime, *generator, *k, *a, *u, *x, *B;
  BIGNUM *power, *product, *base, *exponent, *secret;
};

// A number in memory that OpenSSL wipes. If a secure heap was set up, the memory is there.
static BIGNUM *srp_number(const uint8_t *bytes, size_t length) {
  BIGNUM *number = length <= INT_MAX ? crypto.BN_secure_new() : NULL;
  if (number && !crypto.BN_bin2bn(length ? bytes : (const uint8_t *)"", (int)length, number)) {
    crypto.BN_clear_free(number);
    return NULL;
  }
  // Without this flag, some functions take shortcuts whose time depends on the number.
  if (number) crypto.BN_set_flags(number, BN_FLG_CONSTTIME);
  return number;
}

static bool srp_begin(struct srp *srp, const uint8_t *prime, uint8_t generator) {
  *srp = (struct srp){
      .between = crypto.BN_CTX_secure_new(),
      .prime = srp_number(prime, CREDD_SRP_SIZE),
      .generator = srp_number(&generator, 1),
      .power = srp_number(NULL, 0),
  };
  return srp->between && srp->prime && srp->generator && srp->power;
}

static void srp_end(struct srp *srp) {
  BIGNUM *const numbers[] = {srp->prime,   srp->generator, srp->k,    srp->a,        srp->u,     srp->x,
                             srp->B,       srp->power,     srp->base, srp->exponent, srp->secret,
                             srp->product};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) crypto.BN_clear_free(numbers[i]);
  crypto.BN_CTX_free(srp->between);
}

static bool srp_raise(const struct srp *srp, BIGNUM *power, const BIGNUM *base,
                      const BIGNUM *exponent) {
  return crypto.BN_mod_exp_mont_consttime(power, base, exponent, srp->prime, srp->between, NULL);
}

static bool srp_write(const BIGNUM *number, uint8_t bytes[CREDD_SRP_SIZE]) {
  return crypto.BN_bn2binpad(number, bytes, CREDD_SRP_SIZE) == CREDD_SRP_SIZE;
}

int credd_srp_power(const uint8_t prime[CREDD_SRP_SIZE], uint8_t generator, const uint8_t *exponent,
                    size_t exponent_length, uint8_t power[CREDD_SRP_SIZE]) {
  struct srp srp;
  bool made = srp_begin(&srp, prime, generator) &&
              (srp.exponent = srp_number(exponent, exponent_length)) &&
              srp_raise(&srp, srp.power, srp.generator, srp.exponent) &&
              srp_write(srp.power, power);
  srp_end(&srp);
  return made ? 0 : -1;
}

// The base and the exponent of the secret.
static bool srp_combine(const struct srp *srp) {
  return srp_raise(srp, srp->power, srp->generator, srp->x) &&
         crypto.BN_mod_mul(srp->product, srp->k, srp->power, srp->prime, srp->between) &&
         crypto.BN_mod_sub(srp->base, srp->B, srp->product, srp->prime, srp->between) &&
         crypto.BN_mul(srp->exponent, srp->u, srp->x, srp->between) &&
         crypto.BN_add(srp->exponent, srp->exponent, srp->a);
}

int credd_srp_secret(const uint8_t prime[CREDD_SRP_SIZE], uint8_t generator,
                     const uint8_t k[CREDD_SHA256_SIZE], const uint8_t *a, size_t a_length,
                     const uint8_t u[CREDD_SHA256_SIZE], const uint8_t x[CREDD_SHA256_SIZE],
                     const uint8_t B[CREDD_SRP_SIZE], uint8_t secret[CREDD_SRP_SIZE]) {
  struct srp srp;
  bool made = srp_begin(&srp, prime, generator) &&
              (srp.k = srp_number(k, CREDD_SHA256_SIZE)) && (srp.a = srp_number(a, a_length)) &&
              (srp.u = srp_number(u, CREDD_SHA256_SIZE)) &&
              (srp.x = srp_number(x, CREDD_SHA256_SIZE)) &&
              (srp.B = srp_number(B, CREDD_SRP_SIZE)) && (srp.product = srp_number(NULL, 0)) &&
              (srp.base = srp_number(NULL, 0)) && (srp.exponent = srp_number(NULL, 0)) &&
              (srp.secret = srp_number(NULL, 0)) && srp_combine(&srp) &&
              srp_raise(&srp, srp.secret, srp.base, srp.exponent) &&
              srp_write(srp.secret, secret);
  bool is_zero = made && (crypto.BN_is_zero(srp.base) || crypto.BN_is_zero(srp.secret));
  srp_end(&srp);
  return made ? is_zero : -1;
}

// Without this callback, OpenSSL would ask the terminal for the password of an encrypted key.
static int no_password(char *buffer, int size, int is_written, void *context) {
  (void)buffer, (void)size, (void)is_written, (void)context;
  return 0;
}

static EVP_PKEY *read_key(const char *pem, size_t length) {
  BIO *text = length <= INT_MAX ? crypto.BIO_new_mem_buf(pem, (int)length) : NULL;
  EVP_PKEY *key = text ? crypto.PEM_read_bio_PrivateKey(text, NULL, no_password, NULL) : NULL;
  crypto.BIO_free(text);
  // Otherwise the library's next call would report the error of this file.
  crypto.ERR_clear_error();
  return key;
}

int credd_key_fits(const char *pem, size_t length, const char *key_pem, size_t key_length) {
  BIO *text = length <= INT_MAX ? crypto.BIO_new_mem_buf(pem, (int)length) : NULL;
  X509 *certificate = text ? crypto.PEM_read_bio_X509(text, NULL, no_password, NULL) : NULL;
  EVP_PKEY *key = read_key(key_pem, key_length);
  int fits = CREDD_KEY_OF_ANOTHER;
  if (!certificate) {
    fits = CREDD_NO_CERTIFICATE;
  } else if (!key) {
    fits = CREDD_NO_KEY;
  } else if (crypto.X509_check_private_key(certificate, key) == 1) {
    fits = CREDD_KEY_FITS;
  }
  crypto.EVP_PKEY_free(key);
  crypto.X509_free(certificate);
  crypto.BIO_free(text);
  crypto.ERR_clear_error();
  return fits;
}

// Whether a block of PEM holds what its name says, as far as OpenSSL's reader of authorities looks at it.
static bool holds_certificate(const char *name, const unsigned char *data, long length) {
  bool is_trusted = !strcmp(name, "TRUSTED CERTIFICATE");
  if (!is_trusted && strcmp(name, "CERTIFICATE") && strcmp(name, "X509 CERTIFICATE")) return true;
  X509 *certificate = is_trusted ? crypto.d2i_X509_AUX(NULL, &data, length)
                                 : crypto.d2i_X509(NULL, &data, length);
  crypto.X509_free(certificate);
  return certificate;
}

int credd_damaged_pem(const char *pem, size_t length, size_t *start) {
  BIO *text = length <= INT_MAX ? crypto.BIO_new_mem_buf(pem, (int)length) : NULL;
  int blocks = 0;
  bool is_good = text;
  while (is_good) {
    char *name = NULL, *header = NULL;
    unsigned char *data = NULL;
    long size = 0;
    *start = length - (size_t)crypto.BIO_ctrl(text, BIO_CTRL_PENDING, 0, NULL);
    if (crypto.PEM_read_bio(text, &name, &header, &data, &size) != 1) {
      is_good = ERR_GET_REASON(crypto.ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      break;
    }
    is_good = holds_certificate(name, data, size);
    blocks++;
    crypto.CRYPTO_free(name, __FILE__, __LINE__);
    crypto.CRYPTO_free(header, __FILE__, __LINE__);
    crypto.CRYPTO_free(data, __FILE__, __LINE__);
  }
  crypto.BIO_free(text);
  crypto.ERR_clear_error();
  return !is_good ? CREDD_PEM_DAMAGED : blocks == 0 ? CREDD_PEM_EMPTY : CREDD_PEM_GOOD;
}

static int algorithm_of(const EVP_PKEY *key) {
  char group[64] = "";
  switch (key ? crypto.EVP_PKEY_get_id(key) : EVP_PKEY_NONE) {
    case EVP_PKEY_RSA:
      return crypto.EVP_PKEY_get_bits(key) >= 2048 ? CREDD_RS256 : CREDD_NO_ALGORITHM;
    case EVP_PKEY_EC:
      return crypto.EVP_PKEY_get_group_name(key, group, sizeof group, NULL) &&
                     strcmp(group, "prime256v1") == 0
                 ? CREDD_ES256
                 : CREDD_NO_ALGORITHM;
    default: return CREDD_NO_ALGORITHM;
  }
}

int credd_key_algorithm(const char *pem, size_t length) {
  EVP_PKEY *key = read_key(pem, length);
  int algorithm = algorithm_of(key);
  crypto.EVP_PKEY_free(key);
  return algorithm;
}

// In JWS, the two numbers of an ECDSA signature follow each other (RFC 7518, 3.4); OpenSSL gives
// them in DER.
static bool join_numbers(uint8_t *signature, size_t *length) {
  const uint8_t *der = signature;
  ECDSA_SIG *numbers = crypto.d2i_ECDSA_SIG(NULL, &der, (long)*length);
  if (!numbers) return false;
  const BIGNUM *r, *s;
  crypto.ECDSA_SIG_get0(numbers, &r, &s);
  uint8_t joined[64];
  bool fits = crypto.BN_bn2binpad(r, joined, 32) == 32 && crypto.BN_bn2binpad(s, joined + 32, 32) == 32;
  crypto.ECDSA_SIG_free(numbers);
  if (!fits) return false;
  memcpy(signature, joined, sizeof joined);
  *length = sizeof joined;
  return true;
}

ptrdiff_t credd_sign(const char *pem, size_t pem_length, const void *message, size_t length,
                     uint8_t *signature, size_t capacity) {
  EVP_PKEY *key = read_key(pem, pem_length);
  int algorithm = algorithm_of(key);
  EVP_MD_CTX *context = crypto.EVP_MD_CTX_new();
  bool made = algorithm != CREDD_NO_ALGORITHM && context &&
              crypto.EVP_DigestSignInit(context, NULL, crypto.EVP_sha256(), NULL, key) == 1 &&
              crypto.EVP_DigestSign(context, signature, &capacity, message, length) == 1 &&
              (algorithm == CREDD_RS256 || join_numbers(signature, &capacity));
  crypto.EVP_MD_CTX_free(context);
  crypto.EVP_PKEY_free(key);
  crypto.ERR_clear_error();
  return made ? (ptrdiff_t)capacity : -1;
}
