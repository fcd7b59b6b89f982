import FuzzTargets
import Glibc

/// libFuzzer calls this with each input. `scripts/fuzz` builds it, not SwiftPM.
private let target: FuzzTarget = {
  let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    fatalError("FUZZ_TARGET is none of \(FuzzTarget.allCases.map(\.rawValue))")
  }
  return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  if let fault = target.fault(reading: bytes) { fatalError(fault) }
  return 0
}
