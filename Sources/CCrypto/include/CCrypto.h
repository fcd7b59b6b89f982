// SHA-256, HMAC and AES of OpenSSL's libcrypto. TLS loads it anyway, so the process has only one
// crypto library, and the distribution patches it. Loaded at need, as libcurl is.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CREDD_SHA256_SIZE = 32, CREDD_AES_BLOCK_SIZE = 16 };

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
