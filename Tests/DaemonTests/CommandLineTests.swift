import Testing

/// credctl reads some verbs without ArgumentParser. Its users see no difference.
@Suite(.onStage)
struct CommandLineTests {
  /// Arguments that FastCommand reads, and arguments of the same meaning that it leaves to
  /// ArgumentParser. ArgumentParser alone ignores a wrong value before a right one, and a '--' at the
  /// end.
  @Test(arguments: [
    (["ping"], ["ping", "--"]), (["ping", "--json"], ["ping", "--json", "--"]),
    (["env"], ["env", "--"]), (["env", "--format", "fish"], ["env", "--format=fish", "--"]),
    (["env", "--min-ttl=60"], ["env", "--wait=x", "--wait=5", "--min-ttl", "60"]),
    (["env", "--profile", "missing"], ["env", "--profile", "missing", "--"]),
    (["env", "--min-ttl", "43200"], ["env", "--min-ttl", "43200", "--"]),
    (
      ["exec", "--", "sh", "-c", "env | grep AWS_ | sort; exit 3"],
      ["exec", "--wait=x", "--wait=5", "--", "sh", "-c", "env | grep AWS_ | sort; exit 3"]
    ),
    (
      ["exec", "--", "/nonexistent", "--help"],
      ["exec", "--wait=x", "--wait=5", "--", "/nonexistent", "--help"]
    ),
  ])
  func bothParsersLeadToTheSame(_ fast: [String], _ other: [String]) throws {
    let host = try TestHost()
    let outcome = try host.credctl(fast)
    #expect(!outcome.output.isEmpty || outcome.status != 0)
    #expect(try host.credctl(other) == outcome)
  }

  /// The verbs keep the messages of ArgumentParser.
  @Test(arguments: [
    (["ping", "work"], "unexpected argument 'work': see 'credctl help'"),
    (["ping", "--jsno"], "unknown option '--jsno'. Did you mean '--json'?: see 'credctl help'"),
    (["ping", "--socket"], "missing value for '--socket <path>': see 'credctl help'"),
    (["--socket", "--", "ping"], "option '--socket' needs a value"),
    (
      ["env", "--format", "csh"],
      "the value 'csh' is invalid for '--format <format>'. Please provide one of 'sh', 'fish', "
        + "'dotenv' or 'json': see 'credctl help'"
    ),
    (
      ["env", "--refresh=1"],
      "the option '--refresh' does not take any value, but '1' was specified: see 'credctl help'"
    ),
    (
      ["env", "--wait", "301"],
      "option '--wait' takes seconds from 0 to 300, such as 5 or 0.2, not '301'"
    ),
    (["env", "--user", "x"], "unknown option '--user': see 'credctl help'"),
    (["exec", "true"], "missing expected argument '-- <command> ...': see 'credctl help'"),
    (
      ["exec", "-p", "x", "--"], "missing expected argument '-- <command> ...': see 'credctl help'"
    ),
  ])
  func wrongArgumentsAreExplained(_ arguments: [String], _ message: String) throws {
    let process = try ChildProcess([Programs.credctl] + arguments)
    #expect(try process.wait() == 64)
    #expect(process.output.isEmpty)
    #expect(process.errors == "credctl: \(message)\n")
  }
}
