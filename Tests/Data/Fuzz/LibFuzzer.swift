import AuthFuzzTargets
import FuzzTargets
import Glibc
import SeededRandom

/// libFuzzer calls this with each input. `scripts/fuzz` builds it, not SwiftPM.
private let target: any FuzzedReader = {
  let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
  if let target = FuzzTarget(rawValue: name) { return target }
  if let target = AuthFuzzTarget(rawValue: name) { return target }
  fatalError("there is no target '\(name)'")
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  if let fault = target.judge(bytes).fault { fatalError(fault) }
  return 0
}

/// libFuzzer's own mutations.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int, _ most: Int) -> Int

/// Makes the next input: by the target's grammar, by damage with pieces of it, or by libFuzzer.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutate(
  _ start: UnsafeMutablePointer<UInt8>?, _ count: Int, _ most: Int, _ seed: CUnsignedInt
) -> Int {
  var dice = Dice(seed: UInt64(seed))
  let input: [UInt8]
  switch dice.number(4) {
  case 0: input = target.made(&dice)
  case 1:
    input = target.damaged(unsafe Array(UnsafeBufferPointer(start: start, count: count)), &dice)
  default: return unsafe mutateBytes(start, count, most)
  }
  let kept = input.prefix(most)
  for (index, byte) in kept.enumerated() { unsafe start?[index] = byte }
  return kept.count
}
