import FoundationEssentials
import TestSupport
import Testing

@testable import SandboxKit

/// The attributes of users, and their verification.
struct PoolAttributeTests {
  @Test func aNewAddressIsVerified() throws {
    var pool = try TestPool()
    let access = try pool.tokens().access
    let change: JSON = [["Name": "email", "Value": "new@example.com"]]
    let reply = pool.call("UpdateUserAttributes", token: access, ["UserAttributes": change])
    expect(
      reply.json?["CodeDeliveryDetailsList"]?.elements?.first?["Destination"], equals: "n***@e***")
    func value(_ name: String) -> String? {
      pool.call("GetUser", token: access).json?["UserAttributes"]?.elements?
        .first { $0["Name"]?.text == name }?["Value"]?.text
    }
    expect(value("email") == "new@example.com" && value("email_verified") == "false")
    func verify(_ code: String) -> HTTPReply {
      pool.call(
        "VerifyUserAttribute", token: access,
        ["AttributeName": "email", "Code": .string(code)])
    }
    expect(verify("x").cognitoError, equals: SignUpTests.wrongCode)
    let code = try pool.code()
    expect(verify(code).status, equals: 200)
    expect(value("email_verified"), equals: "true")
    expect(verify(code).cognitoError, equals: SignUpTests.expiredCode)
  }

  @Test func anOldAddressStaysUntilTheNewOneIsVerified() throws {
    var pool = try TestPool(["VerifyBeforeUpdate": true])
    let access = try pool.tokens().access
    let change: JSON = [["Name": "email", "Value": "new@example.com"]]
    _ = pool.call("UpdateUserAttributes", token: access, ["UserAttributes": change])
    expect(pool.call("GetUser", token: access).text.contains("alice@example.com"))
    let input: [String: JSON] = [
      "AttributeName": "email", "Code": .string(try pool.code()),
    ]
    expect(pool.call("VerifyUserAttribute", token: access, input).status, equals: 200)
    expect(pool.call("GetUser", token: access).text.contains("new@example.com"))
  }

  @Test(arguments: [
    ("sub", "1", "NotAuthorizedException: A client attempted to write unauthorized attribute"),
    ("phone_number", "555", "InvalidParameterException: Invalid phone number format."),
    ("colour", "red", "InvalidParameterException: Attributes did not conform to the schema"),
    ("custom:team", "a", "InvalidParameterException: Attributes did not conform to the schema"),
    ("email", "", "InvalidParameterException: Required attribute email cannot be deleted."),
    ("name", String(repeating: "n", count: 2049), "InvalidParameterException: 1 validation error"),
  ])
  func anAttributeThatMayNotBeWrittenIsRefused(
    _ name: String, _ value: String, _ error: String
  ) throws {
    var pool = try TestPool(["CustomAttributes": ["office"]])
    let access = try pool.tokens().access
    let change: JSON = [["Name": .string(name), "Value": .string(value)]]
    let reply = pool.call("UpdateUserAttributes", token: access, ["UserAttributes": change])
    expect(reply.cognitoError.hasPrefix(error))
  }

  @Test func attributesAreSetAndDeleted() throws {
    var pool = try TestPool(["CustomAttributes": ["office"]])
    let access = try pool.tokens().access
    let long = String(repeating: "ü", count: 2048)
    let change: JSON = [
      ["Name": "custom:office", "Value": "Ulm"], ["Name": "name", "Value": .string(long)],
    ]
    expect(
      pool.call("UpdateUserAttributes", token: access, ["UserAttributes": change]).status,
      equals: 200)
    expect(try TokenIssuer.claims(in: pool.tokens().id)["custom:office"]?.text, equals: "Ulm")
    expect(
      pool.call("DeleteUserAttributes", token: access, ["UserAttributeNames": ["custom:office"]])
        .status, equals: 200)
    expect(try TokenIssuer.claims(in: pool.tokens().id)["custom:office"] == nil)
    expect(
      pool.call("DeleteUserAttributes", token: access, ["UserAttributeNames": ["email"]])
        .status, equals: 400)
    expect(
      pool.call("GetUserAttributeVerificationCode", token: access, ["AttributeName": "email"])
        .json?["CodeDeliveryDetails"]?["AttributeName"], equals: "email")
  }

  @Test func aDeletedUserIsGone() throws {
    var pool = try TestPool()
    let tokens = try pool.tokens()
    let reply = pool.call("DeleteUser", token: tokens.access)
    expect(reply.status == 200 && reply.body.isEmpty)
    expect(
      pool.call("GetUser", token: tokens.access).cognitoError,
      equals: "UserNotFoundException: User does not exist.")
    expect(try pool.prove().cognitoError, equals: ProofTests.refused)
  }
}
