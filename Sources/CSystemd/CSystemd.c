// A target needs a source file; libsystemd's calls that credd uses are none of them variadic.
#include "CSystemd.h"
