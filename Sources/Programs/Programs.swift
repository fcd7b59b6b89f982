// The shipped programs as one target: `scripts/build --target Programs` builds and links the three
// programs, without simulation, fuzzing and tests.
