import SeededRandom
import TestSupport
import Testing

@testable import SandboxKit

/// Linking, merging and unlinking.
struct IdentityPoolTests {
  var pool: IdentityPool
  var random = SeededGenerator(seed: 1)
  let alice = Login(provider: "dev", subject: "alice")
  let bob = Login(provider: "dev", subject: "bob")
  let google = Login(provider: "google.example", subject: "1")

  init() {
    pool = IdentityPool(id: "us-east-1:0")
    pool.developerProvider = "dev"
  }

  @Test mutating func registersOnce() throws {
    let id = try pool.register(alice, others: [google], as: nil, random: &random)
    expect(id.hasPrefix("us-east-1:"))
    expect(try pool.register(alice, others: [], as: nil, random: &random), equals: id)
    expect(try pool.register(alice, others: [], as: id, random: &random), equals: id)
    expect(pool.owner(of: google), equals: id)
    expect(pool.identityCount, equals: 1)
  }

  @Test mutating func refusesAnotherUsersIdentity() throws {
    let id = try pool.register(alice, others: [], as: nil, random: &random)
    _ = try pool.register(bob, others: [], as: nil, random: &random)
    let error = failure { () throws(ServiceError) in
      _ = try pool.register(bob, others: [], as: id, random: &random)
    }
    expect(error?.code, equals: "DeveloperUserAlreadyRegisteredException")
  }

  @Test mutating func refusesALoginOfAnotherIdentity() throws {
    _ = try pool.register(alice, others: [google], as: nil, random: &random)
    _ = try pool.register(bob, others: [], as: nil, random: &random)
    let error = failure { () throws(ServiceError) in
      _ = try pool.register(bob, others: [google], as: nil, random: &random)
    }
    expect(error, equals: IdentityPool.conflict)
  }

  @Test mutating func mergesAndKeepsTheOldID() throws {
    let first = try pool.register(alice, others: [google], as: nil, random: &random)
    let second = try pool.register(bob, others: [], as: nil, random: &random)
    try pool.merge(first, into: second)
    expect(pool.survivor(of: first)?.id, equals: second)
    expect(pool.owner(of: alice), equals: second)
    expect(pool.owner(of: google), equals: second)
  }

  @Test mutating func twoLoginsOfOneProviderDoNotMerge() throws {
    let other = Login(provider: "google.example", subject: "2")
    let first = try pool.register(alice, others: [google], as: nil, random: &random)
    let second = try pool.register(bob, others: [other], as: nil, random: &random)
    let error = failure { () throws(ServiceError) in try pool.merge(first, into: second) }
    expect(error?.code, equals: "ResourceConflictException")
    expect(pool.owner(of: google), equals: first)
  }

  @Test mutating func theLastLoginClosesTheIdentity() throws {
    let id = try pool.register(alice, others: [google], as: nil, random: &random)
    pool.unlink([google], from: id)
    expect(pool.identity(id)?.isClosed == false)
    pool.unlink([alice], from: id)
    expect(pool.identity(id)?.isClosed == true)
    expect(try pool.register(alice, others: [], as: nil, random: &random) != id)
  }

  @Test mutating func holdsTwentyLoginsAnIdentity() throws {
    let logins = Set((0..<20).map { Login(provider: "dev", subject: "user\($0)") })
    let id = try pool.makeIdentity(with: logins, random: &random)
    let error = failure { () throws(ServiceError) in try pool.link([alice], to: id) }
    expect(error?.code, equals: "InvalidParameterException")
    expect(pool.owner(of: alice) == nil)
  }

  private func failure(_ body: () throws(ServiceError) -> Void) -> ServiceError? {
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }
}
