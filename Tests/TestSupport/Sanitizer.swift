import Glibc

/// Whether the programs under test are built with a sanitizer; they are built as the tests are.
package enum Sanitizer {
  package static let isOn =
    unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

  /// Say where it reports to, and are in the environment of all programs under test.
  package static let variables = ["ASAN_OPTIONS", "TSAN_OPTIONS"]
}
