// Functions of libc that Swift's static library takes in a version of glibc above 2.34, which is the
// one of Amazon Linux 2023 and RHEL 9. The linker takes these instead. Nothing else calls them.
#pragma once

float hypotf(float x, float y);
