import TestSupport
import Testing

@testable import SandboxKit

struct FormParametersTests {
  @Test func decodes() {
    let form = FormParameters("a=1+2&b=%C3%A9%2B&c&a=3&d=x=y")
    expect(form["a"], equals: "1 2")
    expect(form["b"], equals: "é+")
    expect(form["c"], equals: "")
    expect(form["d"], equals: "x=y")
    expect(form["e"] == nil)
  }

  @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%ff"])
  func leavesOutWhatIsBroken(_ text: String) {
    expect(FormParameters(text)["a"] == nil)
  }
}
