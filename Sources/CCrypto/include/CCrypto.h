// SHA-256, HMAC, AES, the arithmetic of SRP and signatures, by OpenSSL's libcrypto. TLS loads it
// anyway, so the process has only one crypto library, which the distribution patches. It is loaded
// when it is needed, like libcurl.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CREDD_SHA256_SIZE = 32, CREDD_AES_BLOCK_SIZE = 16, CREDD_SRP_SIZE = 384 };

// Loads libcrypto once for the whole process, and tests it. Any thread may call this; it takes some
// milliseconds. Call it before any function below.
//
// 0, or -1 with the problem in `reason`.
int credd_crypto_load(char *reason, size_t size);

// 0, or -1 if memory ran out.
int credd_sha256(const void *data, size_t length, uint8_t digest[CREDD_SHA256_SIZE]);
int credd_hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
                      uint8_t code[CREDD_SHA256_SIZE]);

// AES-128 in CBC mode with PKCS#7 padding; `text` has room for `length` bytes. Returns the number
// of bytes of the text, or -1 if length or padding are wrong.
int credd_aes128_cbc_decrypt(const uint8_t key[CREDD_AES_BLOCK_SIZE],
                             const uint8_t iv[CREDD_AES_BLOCK_SIZE], const void *data, int length,
                             uint8_t *text);

// The digest of the first `size` bytes of a file. -1 if the file has fewer, or memory ran out.
int credd_sha256_file(int descriptor, int64_t size, uint8_t digest[CREDD_SHA256_SIZE]);

// The two computations of an SRP client. Numbers are bytes, the most significant first; the prime has
// no zero byte in front. A computation takes the same time for all secrets of the same length, and
// overwrites every number that it makes. Each power takes some milliseconds: call them on a thread.

// generator^exponent mod prime. 0, or -1 if memory ran out.
int credd_srp_power(const uint8_t prime[CREDD_SRP_SIZE], uint8_t generator, const uint8_t *exponent,
                    size_t exponent_length, uint8_t power[CREDD_SRP_SIZE]);

// (B - k * generator^x)^(a + u * x) mod prime, with the server's B below the prime.
//
// 0; 1 if the base or the result is zero, which ends the exchange; or -1 if memory ran out.
int credd_srp_secret(const uint8_t prime[CREDD_SRP_SIZE], uint8_t generator,
                     const uint8_t k[CREDD_SHA256_SIZE], const uint8_t *a, size_t a_length,
                     const uint8_t u[CREDD_SHA256_SIZE], const uint8_t x[CREDD_SHA256_SIZE],
                     const uint8_t B[CREDD_SRP_SIZE], uint8_t secret[CREDD_SRP_SIZE]);

// Signatures of JWS (RFC 7518, 3.1). The key decides which one.
enum { CREDD_NO_ALGORITHM = 0, CREDD_RS256 = 1, CREDD_ES256 = 2 };

// The algorithm by which a private key in PEM signs: RSA of 2048 bits or more, or EC of P-256.
// CREDD_NO_ALGORITHM for anything else, including a key with a password.
int credd_key_algorithm(const char *pem, size_t length);

enum { CREDD_KEY_FITS, CREDD_KEY_OF_ANOTHER, CREDD_NO_CERTIFICATE, CREDD_NO_KEY };

// Whether a private key belongs to the first certificate of a chain, both in PEM, or which of them cannot be
// read, as a key with a password.
int credd_key_fits(const char *pem, size_t length, const char *key_pem, size_t key_length);

enum { CREDD_PEM_GOOD, CREDD_PEM_EMPTY, CREDD_PEM_DAMAGED };

// Whether OpenSSL can read all blocks of a file of certificates: it takes none of them if it cannot read one.
// `start` is where it looked for the damaged block, whose first line follows.
int credd_damaged_pem(const char *pem, size_t length, size_t *start);

// Signs, and returns the signature's length, or -1. A capacity of 2048 bytes is enough for any key.
// Takes some milliseconds: call it on a thread.
ptrdiff_t credd_sign(const char *pem, size_t pem_length, const void *message, size_t length,
                     uint8_t *signature, size_t capacity);
