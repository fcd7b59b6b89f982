import Foundation
import FuzzTargets
import SeededRandom
import TestSupport
import Testing

/// Inputs of the corpus, and inputs made from the grammar of each target and damaged, one for each
/// seed: the same ones at each run.
///
/// A failure names the command that repeats it.
struct CorpusTests {
  private static let folder = URL(filePath: #filePath)
    .appending(path: "../../Data/Fuzz/corpus").standardizedFileURL

  private static func corpus(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
    let folder = folder.appending(path: target.rawValue)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try names.map { ($0, Array(try Data(contentsOf: folder.appending(path: $0)))) }
  }

  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name]
  }

  /// Seeds of a target.
  private static let seeds: ClosedRange<UInt64> = {
    if let seed = variable("CREDD_FUZZ_SEED").flatMap({ UInt64($0) }) { return seed...seed }
    return 1...UInt64(TestRounds.isDeep ? 1000 : TestRounds.of(300))
  }()

  private static let targets = FuzzTarget.allCases.filter { target in
    variable("CREDD_FUZZ_TARGET").map { $0 == target.rawValue } ?? true
  }

  @Test(arguments: targets)
  func everyCorpusInputIsReadAsByASecondReader(_ target: FuzzTarget) throws {
    let inputs = try Self.corpus(target)
    expect(!inputs.isEmpty)
    for (name, bytes) in inputs {
      let fault = target.judge(bytes).fault
      expect(fault == nil, "Tests/Data/Fuzz/corpus/\(target)/\(name)")
    }
  }

  @Test(arguments: targets)
  func inputsOfTheGrammarAreReadAsByASecondReader(_ target: FuzzTarget) throws {
    let corpus = try Self.corpus(target).map(\.bytes)
    for seed in Self.seeds {
      let input = target.input(seed: seed, corpus: corpus)
      guard let fault = target.judge(input).fault else { continue }
      Issue.record(
        """
        \(fault)
        the input in Base64: \(Data(input).base64EncodedString())
        repeat it: make fuzz TARGET=\(target) SEED=\(seed)
        """)
    }
  }

  /// A grammar whose inputs are all refused would test only the refusals, and the other way round.
  @Test(
    .disabled(if: TestRounds.isShort, "left out by CREDD_TEST_ROUNDS=short"),
    arguments: FuzzTarget.allCases)
  func aGrammarMakesInputsThatAreAcceptedAndOthersThatAreRefused(_ target: FuzzTarget) {
    let rounds = 300
    var accepted = 0
    for seed in 1...UInt64(rounds) {
      var dice = Dice(seed: seed)
      if target.judge(target.made(&dice)) == .accepted { accepted += 1 }
    }
    expect((rounds * 15 / 100...rounds * 95 / 100).contains(accepted))
  }

  @Test func aSeedGivesTheSameInput() {
    for target in FuzzTarget.allCases {
      let inputs = (1...20 as ClosedRange<UInt64>).map { target.input(seed: $0, corpus: []) }
      expect(inputs, equals: (1...20).map { target.input(seed: UInt64($0), corpus: []) })
      expect(Set(inputs).count > 10)
    }
  }
}
