import TestSupport
import Testing

@testable import DaemonHarness

/// That the array covers what columns.txt asks for. By other code than the one that made it.
struct CoveringArrayTests {
  private typealias Row = [String: String]
  private let plan: ArrayColumns
  private let rows: [Row]

  init() throws {
    plan = try ArrayColumns()
    rows = try ArrayRow.all().map(\.values)
  }

  /// Whether the open columns can be filled so that no rule is met.
  private func canBe(_ row: Row, _ rules: [ArrayColumns.Rule]) -> Bool {
    guard !rules.contains(where: { $0.covers(row) }) else { return false }
    // Columns that no rule mentions never matter.
    let mentioned = Set(rules.flatMap(\.values.keys))
    guard
      let next = plan.columns.first(where: { row[$0.name] == nil && mentioned.contains($0.name) })
    else { return true }
    return next.values.contains { value in
      canBe(row.merging([next.name: value]) { $1 }, rules)
    }
  }

  /// All combinations of the values of these columns.
  private func combinations(_ names: some Collection<String>) -> [Row] {
    guard let name = names.first else { return [[:]] }
    let values = plan.columns.first { $0.name == name }?.values ?? []
    return combinations(names.dropFirst()).flatMap { rest in
      values.map { value in rest.merging([name: value]) { $1 } }
    }
  }

  private func expectCovered(_ names: [String]) {
    let isRefused = { (row: Row) in plan.refused.contains { $0.covers(row) } }
    for wanted in combinations(names) {
      let having = rows.filter { row in wanted.allSatisfy { row[$0.key] == $0.value } }
      if canBe(wanted, plan.impossible + plan.refused) {
        expect(having.contains { !isRefused($0) }, "nothing serves \(wanted)")
      } else if canBe(wanted, plan.impossible) {
        expect(!having.isEmpty, "no row has \(wanted)")
      } else {
        expect(having.isEmpty, "\(wanted) cannot be")
      }
    }
  }

  @Test
  func everyPairIsCovered() {
    let names = plan.columns.map(\.name)
    expect(names.count, equals: 10)
    for first in names.indices {
      for second in names.indices where second > first {
        expectCovered([names[first], names[second]])
      }
    }
  }

  @Test
  func everyTripleOfTheFirstFiveColumnsIsCovered() {
    let names = plan.triples
    expect(names, equals: Array(plan.columns.prefix(5).map(\.name)))
    for first in names.indices {
      for second in names.indices where second > first {
        for third in names.indices where third > second {
          expectCovered([names[first], names[second], names[third]])
        }
      }
    }
  }

  @Test
  func noRowIsACombinationThatCannotBe() {
    for (number, row) in rows.enumerated() {
      expect(!plan.impossible.contains { $0.covers(row) }, "row \(number + 1)")
    }
  }

  /// Nor does a rule name what is no value of its column: it would never be met.
  @Test
  func whatIsLeftOutHasItsReasonInWords() {
    let values = Dictionary(
      plan.columns.map { ($0.name, Set($0.values)) }, uniquingKeysWith: { $1 })
    expect(plan.impossible.count > 3)
    for rule in plan.impossible + plan.refused {
      expect(rule.reason.split(separator: " ").count >= 5, "\(rule.reason)")
      for (name, met) in rule.values {
        expect(met.isSubset(of: values[name] ?? []), "\(name)=\(met)")
      }
    }
  }
}
