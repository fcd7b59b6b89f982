// A program that links this target has a free() that wipes. A static program also needs --wrap: see
// wiping_free.c.
#pragma once
