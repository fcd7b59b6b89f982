#include "CSandboxCrypto.h"

#include <gmp.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int csandbox_sha256(const void *data, size_t length, uint8_t digest[]) {
  return gnutls_hash_fast(GNUTLS_DIG_SHA256, data, length, digest) < 0 ? -1 : 0;
}

int csandbox_hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
                         uint8_t code[]) {
  return gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, key_length, data, length, code) < 0 ? -1 : 0;
}

int csandbox_hmac_sha1(const void *key, size_t key_length, const void *data, size_t length,
                       uint8_t code[]) {
  return gnutls_hmac_fast(GNUTLS_MAC_SHA1, key, key_length, data, length, code) < 0 ? -1 : 0;
}

bool csandbox_equal(const void *one, const void *other, size_t length) {
  return length == 0 || gnutls_memcmp(one, other, length) == 0;
}

static int aes128_cbc(const uint8_t key[], const uint8_t vector[], void *data, size_t length,
                      int (*crypt)(gnutls_cipher_hd_t, void *, size_t)) {
  const gnutls_datum_t key_datum = {(unsigned char *)key, CSANDBOX_AES_BLOCK_SIZE};
  const gnutls_datum_t vector_datum = {(unsigned char *)vector, CSANDBOX_AES_BLOCK_SIZE};
  gnutls_cipher_hd_t cipher;
  if (gnutls_cipher_init(&cipher, GNUTLS_CIPHER_AES_128_CBC, &key_datum, &vector_datum) < 0) {
    return -1;
  }
  int result = crypt(cipher, data, length);
  gnutls_cipher_deinit(cipher);
  return result < 0 ? -1 : 0;
}

int csandbox_aes128_cbc_encrypt(const uint8_t key[], const uint8_t vector[], void *data,
                                size_t length) {
  return aes128_cbc(key, vector, data, length, gnutls_cipher_encrypt);
}

int csandbox_aes128_cbc_decrypt(const uint8_t key[], const uint8_t vector[], void *data,
                                size_t length) {
  return aes128_cbc(key, vector, data, length, gnutls_cipher_decrypt);
}

struct csandbox_rsa {
  gnutls_x509_privkey_t file;  // the form that can be written to a file
  gnutls_privkey_t private;    // the form that can sign
  gnutls_pubkey_t public;
};

void csandbox_rsa_free(struct csandbox_rsa *key) {
  // Parts that were not made are NULL; GnuTLS accepts that.
  gnutls_pubkey_deinit(key->public);
  gnutls_privkey_deinit(key->private);
  gnutls_x509_privkey_deinit(key->file);
  free(key);
}

static struct csandbox_rsa *new_key(void) {
  struct csandbox_rsa *key = calloc(1, sizeof *key);
  if (!key) return NULL;
  if (gnutls_x509_privkey_init(&key->file) < 0 || gnutls_privkey_init(&key->private) < 0 ||
      gnutls_pubkey_init(&key->public) < 0) {
    csandbox_rsa_free(key);
    return NULL;
  }
  return key;
}

// Makes the other parts of a key from its file form.
static struct csandbox_rsa *complete(struct csandbox_rsa *key) {
  if (gnutls_x509_privkey_get_pk_algorithm(key->file) == GNUTLS_PK_RSA &&
      gnutls_privkey_import_x509(key->private, key->file, 0) >= 0 &&
      gnutls_pubkey_import_privkey(key->public, key->private, 0, 0) >= 0) {
    return key;
  }
  csandbox_rsa_free(key);
  return NULL;
}

struct csandbox_rsa *csandbox_rsa_generate(unsigned bits) {
  struct csandbox_rsa *key = new_key();
  if (!key) return NULL;
  if (gnutls_x509_privkey_generate(key->file, GNUTLS_PK_RSA, bits, 0) < 0) {
    csandbox_rsa_free(key);
    return NULL;
  }
  return complete(key);
}

struct csandbox_rsa *csandbox_rsa_import(const char *pem, size_t length) {
  if (length > UINT_MAX) return NULL;
  struct csandbox_rsa *key = new_key();
  if (!key) return NULL;
  const gnutls_datum_t datum = {(unsigned char *)pem, (unsigned)length};
  if (gnutls_x509_privkey_import(key->file, &datum, GNUTLS_X509_FMT_PEM) < 0) {
    csandbox_rsa_free(key);
    return NULL;
  }
  return complete(key);
}

// Copies bytes that GnuTLS allocated, and frees them.
static ptrdiff_t hand_over(gnutls_datum_t *datum, void *output, size_t capacity) {
  ptrdiff_t size = datum->size <= capacity ? (ptrdiff_t)datum->size : -1;
  if (size > 0) memcpy(output, datum->data, datum->size);
  gnutls_free(datum->data);
  return size;
}

ptrdiff_t csandbox_rsa_export(struct csandbox_rsa *key, char *pem, size_t capacity) {
  gnutls_datum_t datum;
  if (gnutls_x509_privkey_export2_pkcs8(key->file, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                        &datum) < 0) {
    return -1;
  }
  return hand_over(&datum, pem, capacity);
}

ptrdiff_t csandbox_rsa_number(struct csandbox_rsa *key, enum csandbox_rsa_part part,
                              uint8_t *number, size_t capacity) {
  gnutls_datum_t modulus, exponent;
  if (gnutls_pubkey_export_rsa_raw2(key->public, &modulus, &exponent,
                                    GNUTLS_EXPORT_FLAG_NO_LZ) < 0) {
    return -1;
  }
  bool is_modulus = part == CSANDBOX_RSA_MODULUS;
  gnutls_free(is_modulus ? exponent.data : modulus.data);
  return hand_over(is_modulus ? &modulus : &exponent, number, capacity);
}

ptrdiff_t csandbox_rsa_public(struct csandbox_rsa *key, uint8_t *der, size_t capacity) {
  gnutls_datum_t datum;
  if (gnutls_pubkey_export2(key->public, GNUTLS_X509_FMT_DER, &datum) < 0) return -1;
  return hand_over(&datum, der, capacity);
}

static gnutls_sign_algorithm_t algorithm(enum csandbox_digest digest) {
  return digest == CSANDBOX_SHA256 ? GNUTLS_SIGN_RSA_SHA256 : GNUTLS_SIGN_RSA_SHA512;
}

ptrdiff_t csandbox_rsa_sign(struct csandbox_rsa *key, enum csandbox_digest digest,
                            const void *message, size_t length, uint8_t *signature,
                            size_t capacity) {
  if (length > UINT_MAX) return -1;
  const gnutls_datum_t data = {(unsigned char *)message, (unsigned)length};
  gnutls_datum_t made;
  if (gnutls_privkey_sign_data2(key->private, algorithm(digest), 0, &data, &made) < 0) return -1;
  return hand_over(&made, signature, capacity);
}

bool csandbox_rsa_verifies(struct csandbox_rsa *key, enum csandbox_digest digest,
                           const void *message, size_t length, const uint8_t *signature,
                           size_t signature_length) {
  if (length > UINT_MAX || signature_length > UINT_MAX) return false;
  const gnutls_datum_t data = {(unsigned char *)message, (unsigned)length};
  const gnutls_datum_t given = {(unsigned char *)signature, (unsigned)signature_length};
  return gnutls_pubkey_verify_data2(key->public, algorithm(digest), 0, &data, &given) >= 0;
}

bool csandbox_rsa_public_verifies(const uint8_t *modulus, size_t modulus_length,
                                  const uint8_t *exponent, size_t exponent_length,
                                  enum csandbox_digest digest, const void *message, size_t length,
                                  const uint8_t *signature, size_t signature_length) {
  if (length > UINT_MAX || signature_length > UINT_MAX || modulus_length > UINT_MAX ||
      exponent_length > UINT_MAX)
    return false;
  const gnutls_datum_t number = {(unsigned char *)modulus, (unsigned)modulus_length};
  const gnutls_datum_t power = {(unsigned char *)exponent, (unsigned)exponent_length};
  const gnutls_datum_t data = {(unsigned char *)message, (unsigned)length};
  const gnutls_datum_t given = {(unsigned char *)signature, (unsigned)signature_length};
  gnutls_pubkey_t key;
  if (gnutls_pubkey_init(&key) < 0) return false;
  bool verifies = gnutls_pubkey_import_rsa_raw(key, &number, &power) >= 0 &&
                  gnutls_pubkey_verify_data2(key, algorithm(digest), 0, &data, &given) >= 0;
  gnutls_pubkey_deinit(key);
  return verifies;
}

static void read_number(mpz_t number, const uint8_t bytes[], size_t length) {
  mpz_init(number);
  mpz_import(number, length, 1, 1, 1, 0, bytes);
}

// Writes a number below the modulus in as many bytes as the modulus has.
static void write_number(const mpz_t number, uint8_t bytes[], size_t length) {
  size_t written = (mpz_sizeinbase(number, 2) + 7) / 8;
  if (mpz_sgn(number) == 0) written = 0;
  memset(bytes, 0, length);
  if (written > 0 && written <= length) {
    mpz_export(bytes + (length - written), NULL, 1, 1, 1, 0, number);
  }
}

void csandbox_power(const uint8_t base[], size_t base_length, const uint8_t exponent[],
                    size_t exponent_length, const uint8_t modulus[], size_t length,
                    uint8_t result[]) {
  mpz_t b, e, m;
  read_number(b, base, base_length);
  read_number(e, exponent, exponent_length);
  read_number(m, modulus, length);
  mpz_powm(b, b, e, m);
  write_number(b, result, length);
  mpz_clears(b, e, m, NULL);
}

void csandbox_multiply_add(const uint8_t one[], size_t one_length, const uint8_t other[],
                           size_t other_length, const uint8_t summand[], size_t summand_length,
                           const uint8_t modulus[], size_t length, uint8_t result[]) {
  mpz_t a, b, c, m;
  read_number(a, one, one_length);
  read_number(b, other, other_length);
  read_number(c, summand, summand_length);
  read_number(m, modulus, length);
  mpz_addmul(c, a, b);
  mpz_mod(c, c, m);
  write_number(c, result, length);
  mpz_clears(a, b, c, m, NULL);
}

bool csandbox_p256_verifies(const char *pem, size_t pem_length, const void *message, size_t length,
                            const uint8_t *signature, size_t signature_length) {
  if (pem_length > UINT_MAX || length > UINT_MAX || signature_length != 64) return false;
  const gnutls_datum_t text = {(unsigned char *)pem, (unsigned)pem_length};
  const gnutls_datum_t data = {(unsigned char *)message, (unsigned)length};
  const gnutls_datum_t r = {(unsigned char *)signature, 32};
  const gnutls_datum_t s = {(unsigned char *)signature + 32, 32};
  gnutls_datum_t der = {NULL, 0};
  gnutls_privkey_t private = NULL;
  gnutls_pubkey_t public = NULL;
  gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;
  bool verifies =
      gnutls_privkey_init(&private) >= 0 && gnutls_pubkey_init(&public) >= 0 &&
      gnutls_privkey_import_x509_raw(private, &text, GNUTLS_X509_FMT_PEM, NULL, 0) >= 0 &&
      gnutls_pubkey_import_privkey(public, private, 0, 0) >= 0 &&
      gnutls_pubkey_export_ecc_raw2(public, &curve, NULL, NULL, 0) >= 0 &&
      curve == GNUTLS_ECC_CURVE_SECP256R1 && gnutls_encode_rs_value(&der, &r, &s) >= 0 &&
      gnutls_pubkey_verify_data2(public, GNUTLS_SIGN_ECDSA_SHA256, 0, &data, &der) >= 0;
  gnutls_free(der.data);
  if (public) gnutls_pubkey_deinit(public);
  if (private) gnutls_privkey_deinit(private);
  return verifies;
}
