import TestSupport
import Testing

@testable import SandboxKit

/// The subset of IAM's language that the sandbox evaluates.
struct PolicyTests {
  private func verdict(
    _ statement: String, _ action: String, _ resource: String, _ values: [String: String] = [:]
  ) throws -> Bool? {
    let text = #"{"Version":"2012-10-17","Statement":\#(statement)}"#
    return try PolicyDocument(text).verdict(
      on: AccessRequest(action: action, resource: resource, values: values))
  }

  @Test(
    arguments: [
      ("s3:GetObject", "arn:aws:s3:::b/a/x", true), ("S3:getobject", "arn:aws:s3:::b/a/x", true),
      ("s3:GetObjectAcl", "arn:aws:s3:::b/a/x", nil), ("s3:GetObject", "arn:aws:s3:::b/A/x", nil),
      ("s3:GetObject", "arn:aws:s3:::b/a/", true), ("s3:GetObject", "arn:aws:s3:::b/a", nil),
    ] as [(String, String, Bool?)])
  func namesAreCaseBlindAndResourcesAreNot(
    _ action: String, _ resource: String, _ expected: Bool?
  ) throws {
    let statement = #"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/a/*"}"#
    expect(try verdict(statement, action, resource), equals: expected)
  }

  @Test func aDenialWins() throws {
    let statements = #"""
      [{"Effect":"Allow","Action":"s3:*","Resource":"*"},
       {"Effect":"Deny","NotAction":["s3:Get*"],"Resource":"*"}]
      """#
    expect(try verdict(statements, "s3:GetObject", "arn:aws:s3:::b/k"), equals: true)
    expect(try verdict(statements, "s3:PutObject", "arn:aws:s3:::b/k"), equals: false)
  }

  @Test func variablesAreOfTheRequestAndEscapesAreThemselves() throws {
    let statement = #"""
      {"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::b/${aws:PrincipalTag/User}/${*}?"}
      """#
    let values = ["aws:principaltag/user": "a*"]
    let resource = "arn:aws:s3:::b/"
    expect(try verdict(statement, "s3:GetObject", resource + "a*/*x", values), equals: true)
    // A value's own star stands for itself.
    expect(try verdict(statement, "s3:GetObject", resource + "ab/*x", values) == nil)
    expect(try verdict(statement, "s3:GetObject", resource + "a*/yx", values) == nil)
    expect(try verdict(statement, "s3:GetObject", resource + "a*/*x") == nil)
  }

  @Test func conditionsNeedTheirValue() throws {
    let statement = #"""
      {"Effect":"Allow","Action":"s3:ListBucket","Resource":"*",
       "Condition":{"StringLike":{"s3:prefix":["a/*","b"]},"StringEquals":{"x:y":"*"}}}
      """#
    let good = ["s3:prefix": "a/1", "x:y": "*"]
    expect(try verdict(statement, "s3:ListBucket", "arn:aws:s3:::b", good), equals: true)
    for bad in [
      ["s3:prefix": "a/1"], ["s3:prefix": "c", "x:y": "*"], ["s3:prefix": "b", "x:y": "z"],
    ] {
      expect(try verdict(statement, "s3:ListBucket", "arn:aws:s3:::b", bad) == nil)
    }
  }

  @Test(arguments: [
    #"{"Effect":"Allow","Action":"s3:*"}"#, #"{"Effect":"Allow","Resource":"*"}"#,
    #"{"Effect":"Maybe","Action":"s3:*","Resource":"*"}"#,
    #"{"Effect":"Allow","Action":"GetObject","Resource":"*"}"#,
    #"{"Effect":"Allow","Action":"s3:*","Resource":"bucket"}"#,
    #"{"Effect":"Allow","Action":"s3:*","NotAction":"s3:*","Resource":"*"}"#,
    #"{"Effect":"Allow","Action":"s3:*","NotResource":"arn:aws:s3:::b"}"#,
    #"{"Effect":"Allow","Action":"s3:*","Resource":"*","Principal":"*"}"#,
    #"{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"Bool":{"a:b":"true"}}}"#,
    #"{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::${a:b, 'c'}"}"#,
    #"{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::${a:b"}"#,
    #"{"Effect":"Allow","Action":[],"Resource":"*"}"#, "7",
  ])
  func whatItDoesNotEvaluateIsRefused(_ statement: String) {
    #expect(throws: ServiceError.self) { try verdict(statement, "s3:GetObject", "*") }
  }

  @Test func anotherVersionIsRefused() {
    for version in [#""Version":"2008-10-17","#, ""] {
      let text = "{\(version)\"Statement\":[]}"
      #expect(throws: ServiceError.self) { try PolicyDocument(text) }
    }
  }

  @Test(arguments: [
    ("*", "", true), ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXbYbZ", false), ("?", "é", true),
    ("?", "", false), ("**a", "ba", true), ("a", "ab", false),
  ])
  func wildcardsFit(_ pattern: String, _ text: String, _ expected: Bool) throws {
    expect(try PolicyPattern(pattern).matches(text), equals: expected)
  }
}
