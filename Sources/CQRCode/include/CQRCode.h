// QR codes, by Nayuki's libqrcodegen. It comes as a static library, which credctl needs. It works
// only in its caller's buffers, which are wiped here, because the text has a secret.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The largest code: version 15, of up to 520 bytes of text.
enum { CREDD_QR_MAX_SIDE = 15 * 4 + 17 };

// Writes the modules row by row, 1 for a dark one. Returns the number of modules of a side; 0 for a
// text that is too long.
int credd_qr_encode(const char *text, uint8_t modules[_Nonnull CREDD_QR_MAX_SIDE * CREDD_QR_MAX_SIDE]);

#pragma clang assume_nonnull end
