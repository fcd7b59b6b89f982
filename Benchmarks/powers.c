// The least that an SRP sign-in takes: OpenSSL's constant-time powers in the 3072-bit group, with
// exponents as long as those of a sign-in. Prints the processor time of each round, in milliseconds.

#include <openssl/bn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double processor_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void power(const BIGNUM *base, int bits, const BIGNUM *prime, BN_CTX *context) {
  BIGNUM *exponent = BN_secure_new(), *result = BN_new();
  if (!exponent || !result || !BN_rand(exponent, bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY)) exit(1);
  BN_set_flags(exponent, BN_FLG_CONSTTIME);
  if (!BN_mod_exp_mont_consttime(result, base, exponent, prime, context, NULL)) exit(1);
  BN_clear_free(exponent);
  BN_free(result);
}

int main(int count, char **words) {
  int rounds = count > 1 ? atoi(words[1]) : 20;
  BN_CTX *context = BN_CTX_secure_new();
  BIGNUM *prime = BN_get_rfc3526_prime_3072(NULL), *two = BN_new(), *any = BN_new();
  if (!context || !prime || !two || !any || !BN_set_word(two, 2) || !BN_rand_range(any, prime)) return 1;
  printf("[");
  for (int round = 0; round < rounds; round++) {
    double start = processor_ms();
    power(two, 256, prime, context);  // A = g^a
    power(two, 256, prime, context);  // g^x
    power(any, 513, prime, context);  // (B - k g^x)^(a + u x)
    printf("%s%.4f", round ? ", " : "", processor_ms() - start);
  }
  printf("]\n");
  return 0;
}
