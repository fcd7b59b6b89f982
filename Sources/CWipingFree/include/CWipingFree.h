// Linking this target makes free() wipe, in the whole program: see wiping_free.c. A target of its
// own, because a statically linked program (credctl) cannot replace glibc's allocator.
#pragma once
