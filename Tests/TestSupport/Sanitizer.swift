import Glibc

/// Whether the programs under test are built with a sanitizer. They are built like the tests.
package enum Sanitizer {
  package static let isOn =
    unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

  /// The variables that name the sanitizer's report file; all programs under test have them.
  package static let variables = ["ASAN_OPTIONS", "TSAN_OPTIONS"]
}
