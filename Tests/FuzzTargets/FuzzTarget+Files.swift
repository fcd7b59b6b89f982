import CredCore
import SeededRandom

extension FuzzTarget {
  func judgeSnapshot(_ bytes: [UInt8]) -> Verdict {
    let record = try? SessionRecord(reading: bytes[...])
    let second = SecondSnapshot(bytes)
    guard let record else { return .check(second == nil, "refused, though the fields are right") }
    guard let second else { return .fault("accepted, though a field is wrong or missing") }
    let encoded = record.encoded
    return .all([
      .of("what is stored again", SecondSnapshot(encoded), second),
      .check(
        "\(record.uid)" == second.values["1"] && record.profile == second.values["2"]
          && record.owner == second.owner, "read for another user"),
      .check(
        record.snapshot.identityID?.description == second.values["6.2"], "read another identity"),
      .check(
        (try? SessionRecord(reading: encoded[...]))?.encoded == encoded,
        "what was written is written otherwise"),
      judgeRestored(record.snapshot),
    ])
  }

  /// A session restored from any snapshot works, and does not wake without end.
  private func judgeRestored(_ snapshot: SessionSnapshot) -> Verdict {
    let plans =
      [
        SessionPlan(backend: .host), SessionPlan(backend: .password, flow: .basic),
        SessionPlan(backend: .none, allowsGuests: true),
      ]
      + (snapshot.providerIssuer.map { [SessionPlan(backend: .provider($0))] } ?? [])
    for plan in plans {
      var random = Dice(seed: 1)
      var callIDs = CallIDs()
      var machine = SessionMachine(
        plan: plan, snapshot: snapshot, now: .seconds(1000), jitter: 0.5)
      for time in [1000, 1000, 5000, 1e6] {
        let now = Instant.seconds(time)
        _ = machine.handle(.timePassed, now: now, callIDs: &callIDs, random: &random)
        guard machine.nextWake > now else { return .fault("a session that wakes without end") }
        if let credentials = machine.credentials, credentials.expires <= now {
          return .fault("credentials that have expired are held")
        }
      }
    }
    return .accepted
  }

  /// An input is a header, if it begins as one, else records.
  func judgeStore(_ bytes: [UInt8]) -> Verdict {
    let boot = [UInt8](repeating: 7, count: 16)
    let head = Array(bytes.prefix(64))
    var verdicts = [judgeHeader(head, boot: boot)]
    let records = bytes.starts(with: "CREDD".utf8) ? Array(bytes.dropFirst(64)) : bytes
    for place in stride(from: 0, through: min(records.count, 4096), by: 8) {
      for isLast in [true, false] {
        let found = StoredRecord.find(in: records, at: place, marker: Self.marker, isLast: isLast)
        let second = SecondStore.find(in: records, at: place, marker: Self.marker, isLast: isLast)
        guard SecondStore.shown(found) == second else {
          let shown = SecondStore.shown(found)
          return .fault("at \(place): \(shown), by the second reading \(second)")
        }
        guard case .record(let record) = found else { continue }
        let frame = StoredRecord.frame(
          Array(records[record.payload]), sequence: record.sequence, marker: Self.marker)
        let end = min(records.count, place + frame.count)
        let content = frame.prefix(24 + record.payload.count)
        verdicts.append(
          .check(records[place..<end].starts(with: content), "framed in another way"))
        verdicts.append(.accepted)
      }
    }
    return .all(verdicts)
  }

  static let marker: UInt64 = 0x4352_4544_4421_4D4B

  private func judgeHeader(_ bytes: [UInt8], boot: [UInt8]) -> Verdict {
    let second = SecondStore.header(bytes, boot: boot)
    do throws(StoreHeader.Refusal) {
      let header = try StoreHeader(reading: bytes, boot: boot)
      return .all([
        .check("\(header.generation) \(header.marker)" == second, "a header is read as \(second)"),
        .accepted,
      ])
    } catch {
      let expected =
        switch error {
        case .damaged: "damaged"
        case .version(let version): "version \(version)"
        case .otherBoot: "other boot"
        case .unknownBoot: "unknown boot"
        }
      return .check(expected == second, "a header is \(expected), by the second reading \(second)")
    }
  }

  /// A colon stands for a uid without a name, nothing for one that was not looked up.
  private static func shown(_ owner: SessionOwner) -> String {
    switch owner {
    case .named(let name): name == ":" ? "a colon" : name
    case .nameless: ":"
    case .unknown: ""
    }
  }

  func judgeIdentities(_ bytes: [UInt8]) -> Verdict {
    let content = IdentityFileText.read(bytes)
    let second = SecondIdentities(bytes)
    let lines = content.identities.map {
      [
        "\($0.uid)", $0.profile, Self.shown($0.owner), $0.pool, $0.provider ?? "", $0.identifier,
        $0.identityID.description, $0.isGuests ? "guest" : "user",
      ]
    }
    let written = IdentityFileText.write(content.identities.map(\.line))
    let again = IdentityFileText.read(written)
    let verdict = Verdict.all([
      .of("identities", lines, second.lines),
      .check((content.damage == nil) == second.isWhole, "whole or damaged"),
      .check(
        again.identities == content.identities && again.damage == nil,
        "what was written reads otherwise"),
      .check(SecondIdentities(written).lines == lines, "what was written reads as other lines"),
    ])
    return verdict == .accepted && !second.isWhole ? .refused : verdict
  }
}
