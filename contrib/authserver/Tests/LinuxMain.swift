import Testing

// All tests are Swift Testing's. Where SwiftPM finds no file of this name, it looks for XCTest's in an
// index of the code, which takes a tenth of the time that the tests take to build.
@main
struct Tests {
  static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
