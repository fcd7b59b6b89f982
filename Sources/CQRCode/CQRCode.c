#define _GNU_SOURCE
#include "CQRCode.h"

#include <qrcodegen/qrcodegen.h>
#include <string.h>

enum { VERSION = 15 };

int credd_qr_encode(const char *text, uint8_t *modules) {
  uint8_t work[qrcodegen_BUFFER_LEN_FOR_VERSION(VERSION)];
  uint8_t code[qrcodegen_BUFFER_LEN_FOR_VERSION(VERSION)];
  int side = 0;
  if (qrcodegen_encodeText(text, work, code, qrcodegen_Ecc_LOW, qrcodegen_VERSION_MIN, VERSION,
                           qrcodegen_Mask_AUTO, true)) {
    side = qrcodegen_getSize(code);
    for (int y = 0; y < side; y++) {
      for (int x = 0; x < side; x++) modules[y * side + x] = qrcodegen_getModule(code, x, y);
    }
  }
  explicit_bzero(work, sizeof work);
  explicit_bzero(code, sizeof code);
  return side;
}
