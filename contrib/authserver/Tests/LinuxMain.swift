import Testing

// All tests are Swift Testing's. Where SwiftPM finds no file of this name, it makes an entry point of its
// own that has XCTest's tests too, and looks for them in an index of the code, which takes a tenth of
// the time that the tests take to build.
@main
struct Tests {
  static func main() async {
    guard CommandLine.arguments.contains("swift-testing") else {
      // `swift test` asks for XCTest's tests first.
      return print(#"{"name":"All tests","tests":[]}"#)
    }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
