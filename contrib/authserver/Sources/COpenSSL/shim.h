// Debian's libcrypto: hashes, and the cipher of the sample protocol.
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
