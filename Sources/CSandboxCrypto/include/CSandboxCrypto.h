// The cryptography of the sandbox, by GnuTLS, and its large integers, by GMP. The daemon uses another library, so that the two
// check each other. Swift sees only these functions: with GnuTLS's headers, each handle,
// enumeration and allocated buffer would need a wrapper in Swift.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum { CSANDBOX_SHA1_SIZE = 20, CSANDBOX_SHA256_SIZE = 32, CSANDBOX_AES_BLOCK_SIZE = 16 };

// 0, or -1 if memory ran out.
int csandbox_sha256(const void *_Nullable data, size_t length, uint8_t digest[_Nonnull]);
int csandbox_hmac_sha256(const void *_Nullable key, size_t key_length, const void *_Nullable data,
                         size_t length, uint8_t code[_Nonnull]);
// For one-time codes (RFC 6238), which authenticator apps make with SHA-1.
int csandbox_hmac_sha1(const void *_Nullable key, size_t key_length, const void *_Nullable data,
                       size_t length, uint8_t code[_Nonnull]);

// Compares in a time that does not depend on where the two differ.
bool csandbox_equal(const void *_Nullable one, const void *_Nullable other, size_t length);

// AES-128 in CBC mode over whole blocks, in place; the caller handles the padding. Key and vector
// have 16 bytes each. 0, or -1 if GnuTLS refuses.
int csandbox_aes128_cbc_encrypt(const uint8_t key[_Nonnull], const uint8_t vector[_Nonnull],
                                void *_Nullable data, size_t length);
int csandbox_aes128_cbc_decrypt(const uint8_t key[_Nonnull], const uint8_t vector[_Nonnull],
                                void *_Nullable data, size_t length);

// A private RSA key with its public half.
struct csandbox_rsa;

enum csandbox_rsa_part { CSANDBOX_RSA_MODULUS, CSANDBOX_RSA_EXPONENT };

enum csandbox_digest { CSANDBOX_SHA256, CSANDBOX_SHA512 };

// NULL if GnuTLS refuses.
struct csandbox_rsa *_Nullable csandbox_rsa_generate(unsigned bits);
// Reads PKCS#1 or PKCS#8 in PEM, without a password. NULL for anything else.
struct csandbox_rsa *_Nullable csandbox_rsa_import(const char *_Nullable pem, size_t length);
void csandbox_rsa_free(struct csandbox_rsa *key);

// These functions write up to `capacity` bytes and return their number, or -1.
// The private key in PEM (PKCS#8).
ptrdiff_t csandbox_rsa_export(struct csandbox_rsa *key, char *_Nullable pem, size_t capacity);
// The public key in DER (SubjectPublicKeyInfo).
ptrdiff_t csandbox_rsa_public(struct csandbox_rsa *key, uint8_t *_Nullable der, size_t capacity);
// A number of the public key, big-endian, without leading zeros.
ptrdiff_t csandbox_rsa_number(struct csandbox_rsa *key, enum csandbox_rsa_part part,
                              uint8_t *_Nullable number, size_t capacity);
// The signature of RSASSA-PKCS1-v1_5.
ptrdiff_t csandbox_rsa_sign(struct csandbox_rsa *key, enum csandbox_digest digest,
                            const void *_Nullable message, size_t length, uint8_t *_Nullable signature,
                            size_t capacity);

bool csandbox_rsa_verifies(struct csandbox_rsa *key, enum csandbox_digest digest,
                           const void *_Nullable message, size_t length, const uint8_t *_Nullable signature,
                           size_t signature_length);
// Verifies with a public key of which only the numbers are known.
bool csandbox_rsa_public_verifies(const uint8_t *_Nullable modulus, size_t modulus_length,
                                  const uint8_t *_Nullable exponent, size_t exponent_length,
                                  enum csandbox_digest digest, const void *_Nullable message,
                                  size_t length, const uint8_t *_Nullable signature,
                                  size_t signature_length);

// Whether a signature of two numbers (ES256 of RFC 7518) was made with the private key in PEM, on
// the curve P-256.
bool csandbox_p256_verifies(const char *_Nullable pem, size_t pem_length,
                            const void *_Nullable message, size_t length,
                            const uint8_t *_Nullable signature, size_t signature_length);

// Large integers, big-endian and unsigned; an empty one is 0. Results are below the modulus and
// fill as many bytes as the modulus. The time depends on the values, because these functions are
// for a server that protects nothing.

// base^exponent mod modulus.
void csandbox_power(const uint8_t *_Nullable base, size_t base_length,
                    const uint8_t *_Nullable exponent, size_t exponent_length,
                    const uint8_t modulus[_Nonnull], size_t length, uint8_t result[_Nonnull]);
// one * other + summand mod modulus.
void csandbox_multiply_add(const uint8_t *_Nullable one, size_t one_length,
                           const uint8_t *_Nullable other, size_t other_length,
                           const uint8_t *_Nullable summand, size_t summand_length,
                           const uint8_t modulus[_Nonnull], size_t length,
                           uint8_t result[_Nonnull]);

#pragma clang assume_nonnull end
