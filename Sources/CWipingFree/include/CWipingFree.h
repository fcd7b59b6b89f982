// Linking this target makes free() wipe, in the whole program; a static program needs --wrap too: see
// wiping_free.c.
#pragma once
