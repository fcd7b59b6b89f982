// A target needs a source file. credd uses no variadic function of libsystemd, so no shim is
// needed.
#include "CSystemd.h"
