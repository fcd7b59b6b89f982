import CredCore

/// The next step of a call, ready to be made.
enum Prepared<Outcome> {
  /// The last request.
  case exchange(Exchange<Outcome>)
  /// A request after which the call goes on.
  case part(Exchange<Preparation<Outcome>>)
  case command(PreparedCommand<Outcome>)
  /// The outcome is known without a request.
  case outcome(Outcome)
}

/// Prepares the next step of a call from what was fetched for the call. It runs anew after each thing that
/// it wanted, and when a further request may be sent, so it must not change anything.
///
/// A struct, because Swift 6.2 fails to compile a function with a typed error where any reply may stand.
struct Preparation<Outcome> {
  let next: (CallInputs) throws(Unprepared) -> Prepared<Outcome>
}
