import AuthFuzzTargets
import Foundation
import FuzzTargets
import SeededRandom
import Testing

/// Inputs of the corpus, and inputs made from the grammar of each target and damaged, one for each seed.
struct FuzzTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let folder = URL(filePath: #filePath)
    .appending(path: "../../../../../Tests/Data/Fuzz/corpus").standardizedFileURL

  private static let seeds: ClosedRange<UInt64> =
    environment["CREDD_FUZZ_SEED"].flatMap { UInt64($0) }.map { $0...$0 } ?? 1...300

  private static let targets = AuthFuzzTarget.allCases.filter { target in
    environment["CREDD_FUZZ_TARGET"].map { $0 == target.rawValue } ?? true
  }

  @Test(arguments: targets)
  func everyInputIsReadAsByASecondReader(_ target: AuthFuzzTarget) throws {
    let folder = Self.folder.appending(path: target.rawValue)
    let corpus = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
      (name: $0, bytes: Array(try Data(contentsOf: folder.appending(path: $0))))
    }
    for (name, bytes) in corpus {
      #expect(target.judge(bytes).fault == nil, "Tests/Data/Fuzz/corpus/\(target)/\(name)")
    }
    for seed in Self.seeds {
      let input = target.input(seed: seed, corpus: corpus.map(\.bytes))
      guard let fault = target.judge(input).fault else { continue }
      let base64 = Data(input).base64EncodedString()
      Issue.record(
        "\(fault)\nin Base64: \(base64)\nrepeat it: make fuzz TARGET=\(target) SEED=\(seed)")
    }
  }

  /// A grammar whose inputs are all refused would test only the refusals, and the other way round.
  @Test(arguments: AuthFuzzTarget.allCases)
  func someInputsOfAGrammarAreAcceptedAndSomeRefused(_ target: AuthFuzzTarget) {
    let accepted = (1...300 as ClosedRange<UInt64>).count { seed in
      var dice = Dice(seed: seed)
      return target.judge(target.made(&dice)) == .accepted
    }
    #expect((45...285).contains(accepted))
  }
}
