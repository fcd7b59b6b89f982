/// The uids that users have in addition to their own: the ranges of /etc/subuid (subuid(5)).
///
/// Containers run with these uids. As a rule they have no names, and their owner can act with each
/// of them.
public struct SubordinateRanges: Sendable, Equatable {
  /// The owner, in the form of the file.
  public enum Owner: Hashable, Sendable {
    case name(String)
    case uid(UInt32)
  }

  /// The owner of a uid, and the lowest uid of that owner's ranges, which stands for the owner.
  public struct Ownership: Equatable, Sendable {
    public let owner: Owner
    public let first: UInt32
  }

  private struct Range: Equatable {
    let first: UInt32
    let last: UInt32
    let owner: Owner
    /// The greatest `last` of this range and all ranges before it.
    var reach: UInt32
  }

  /// The ranges, sorted by their first uids.
  private var ranges: [Range] = []
  private var firsts: [Owner: UInt32] = [:]
  /// The numbers of lines that contain no range, counted from 1. Such lines are ignored.
  public private(set) var wrongLines: [Int] = []

  public init() {}

  /// Reads the content of the file: lines of `NAME:FIRST:COUNT` or `UID:FIRST:COUNT`.
  public init(_ bytes: [UInt8]) {
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      guard !line.isEmpty, line.first != UInt8(ascii: "#") else { continue }
      guard let range = Self.range(line) else {
        wrongLines.append(number)
        continue
      }
      ranges.append(range)
    }
    ranges.sort { $0.first < $1.first }
    var reach: UInt32 = 0
    for index in ranges.indices {
      reach = max(reach, ranges[index].last)
      ranges[index].reach = reach
      if firsts[ranges[index].owner] == nil { firsts[ranges[index].owner] = ranges[index].first }
    }
  }

  private static func range(_ line: ArraySlice<UInt8>) -> Range? {
    let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard fields.count == 3, let name = String(validating: fields[0], as: UTF8.self),
      !name.isEmpty, name.utf8.count <= Limits.Configuration.accountNameBytes,
      let first = number(fields[1]), let count = number(fields[2]), count > 0
    else { return nil }
    // The kernel never gives a user the uid 2^32 - 1.
    let last = UInt64(first) + UInt64(count) - 1
    guard last < UInt64(UInt32.max) else { return nil }
    let owner = number(fields[0]).map(Owner.uid) ?? .name(name)
    return Range(first: first, last: UInt32(last), owner: owner, reach: 0)
  }

  private static func number(_ field: ArraySlice<UInt8>) -> UInt32? {
    guard !field.isEmpty, field.count <= 10,
      field.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return UInt32(String(decoding: field, as: UTF8.self))
  }

  /// The owners of a uid, in the form of the file; empty if no range contains the uid. Two owners
  /// may be the same user, once by name and once by number.
  public func ownerships(of uid: UInt32) -> [Ownership] {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].first <= uid { low = middle + 1 } else { high = middle }
    }
    var found: [Ownership] = []
    while low > 0, ranges[low - 1].reach >= uid {
      low -= 1
      guard ranges[low].last >= uid else { continue }
      let owner = ranges[low].owner
      guard !found.contains(where: { $0.owner == owner }) else { continue }
      found.append(Ownership(owner: owner, first: firsts[owner] ?? ranges[low].first))
    }
    return found
  }
}

/// The account for which a uid counts in limits of one user. Access to sessions depends only on the
/// uid.
public enum Account: Hashable, Sendable {
  /// A user with a name. The uids of a range count here too, if the host knows the range's owner.
  case user(UInt32)
  /// An owner of a range whom the host does not know, by the first uid of the owner's ranges.
  case range(UInt32)
  /// All uids together that have no name and belong to no range.
  case ownerless

  /// A number for code that counts by uids. No user has the last number.
  public var number: UInt32 {
    switch self {
    case .user(let uid), .range(let uid): uid
    case .ownerless: .max
    }
  }
}
