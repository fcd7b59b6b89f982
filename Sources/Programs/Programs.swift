// What is shipped, as one target: `scripts/build --target Programs` builds and links the three
// programs, and neither simulation nor fuzzing nor tests.
