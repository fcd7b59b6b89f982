import TestSupport
import Testing

@testable import CredCore

struct SessionPolicyTests {
  private static func policy(_ statement: String) -> [UInt8] {
    Array(#"{ "Version": "2012-10-17", "Statement": \#(statement) }"#.utf8)
  }

  private static func reading(_ resource: String) -> [UInt8] {
    policy(#"{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "\#(resource)"}"#)
  }

  private func message(_ bytes: [UInt8]) -> String? {
    do {
      _ = try SessionPolicy(bytes)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func isSentWithoutBlanksAndInItsOrder() throws {
    let policy = try SessionPolicy(
      Self.policy(
        #"""
        [ {"Sid": "a7", "Effect": "Allow", "Action": ["s3:Get*", "s3:List*"],
           "Resource": "arn:aws:s3:::b/${aws:username}/{{x}/\"\\", "Condition":
           {"StringLike": {"s3:prefix": ["{user}/*"]}, "Bool": {"aws:SecureTransport": true}}} ]
        """#))
    expect(
      try policy.text(user: "alice", uid: 7, host: "h"),
      equals: #"{"Version":"2012-10-17","Statement":[{"Sid":"a7","Effect":"Allow","Action":"#
        + #"["s3:Get*","s3:List*"],"Resource":"arn:aws:s3:::b/${aws:username}/{{x}/\"\\","#
        + #""Condition":{"StringLike":{"s3:prefix":["alice/*"]},"Bool":"#
        + #"{"aws:SecureTransport":true}}}]}"#)
    expect(policy.needsUserName)
    expect(policy.warnings, equals: [])
  }

  @Test(arguments: [
    ("alice", "alice"), ("*", "${*}"), ("${x}", "${$}{x}"), ("a\"b", "a\\\"b"), ("a?", "a${?}"),
    ("a\\b", "a\\\\b"), ("{uid}", "{uid}"), ("\u{FF}", "\u{FF}"),
    (String(repeating: "x", count: 200), String(repeating: "x", count: 200)),
  ])
  func namesStandForThemselves(_ name: String, _ escaped: String) throws {
    let policy = try SessionPolicy(Self.reading("arn:aws:s3:::b/{user}/{uid}/{host}/*"))
    expect(
      try policy.text(user: name, uid: 1000, host: "web-1"),
      equals: #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","#
        + #""Resource":"arn:aws:s3:::b/\#(escaped)/1000/web-1/*"}}"#)
  }

  @Test(
    arguments: [
      ("a/b", .separator), ("a:b", .separator), ("a\u{7}", .control), ("a\u{85}", .control),
      ("a\u{100}", .notTaken), (String(repeating: "x", count: 2048), .tooLong(2158)),
    ] as [(String, PolicyRefusal)])
  func otherNamesAreRefused(_ name: String, _ refusal: PolicyRefusal) throws {
    let policy = try SessionPolicy(Self.reading("arn:aws:s3:::b/{user}/*"))
    let error = #expect(throws: PolicyRefusal.self) {
      try policy.text(user: name, uid: 1, host: "h")
    }
    expect(error, equals: refusal)
    expect(!String(describing: refusal).contains(name))
    #expect(throws: PolicyRefusal.userNameNeeded) { try policy.text(user: nil, uid: 1, host: "h") }
  }

  @Test func anExpansionIsNeverShortened() throws {
    let policy = try SessionPolicy(Self.reading("arn:aws:s3:::b/{user}/*"))
    let room = 2048 - (try policy.text(user: "", uid: 1, host: "h")).unicodeScalars.count
    let longest = String(repeating: "x", count: room)
    expect(
      try policy.text(user: longest, uid: 1, host: "h").unicodeScalars.count, equals: 2048)
    #expect(throws: PolicyRefusal.tooLong(2049)) {
      try policy.text(user: longest + "x", uid: 1, host: "h")
    }
  }

  @Test(arguments: [
    (#"{"Effect":"Allow","Action":"s3:*"}"#, "Statement needs one of Resource and NotResource"),
    (#"{"Effect":"Allow","Resource":"*"}"#, "Statement needs one of Action and NotAction"),
    (
      #"{"Effect":"Allow","Action":"a:b","NotAction":"a:c","Resource":"*"}"#,
      "Statement needs one of Action and NotAction"
    ),
    (
      #"[{"Effect":"Yes","Action":"a:b","Resource":"*"}]"#,
      #"Statement[0] needs "Effect": "Allow" or "Deny""#
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":"*","Principal":"*"}"#,
      "Statement has a member that a session policy does not have: 'Principal'"
    ),
    (
      #"{"Effect":"Deny","Action":7,"Resource":"*"}"#,
      "Statement.Action is no text and no list of texts"
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":[]}"#,
      "Statement.Resource is no text and no list of texts"
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":"*","Condition":"x"}"#,
      "Statement.Condition is no object"
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":"*","Condition":{"Bool":true}}"#,
      "'Bool' in Statement.Condition is no object"
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":"*","Condition":{"Bool":{"k":[["a"]]}}}"#,
      "'k' in Statement.Condition has no value and no list of values"
    ),
    (
      #"{"Effect":"Deny","Action":"a:b","Resource":"*","\u001b":"*"}"#,
      #"Statement has a member that a session policy does not have: '\u{1B}'"#
    ),
    ("[]", "has an empty Statement"), ("[7]", "Statement[0] is no object"),
  ])
  func saysWhatIsWrong(_ statement: String, _ text: String) {
    expect(message(Self.policy(statement)), equals: text)
  }

  @Test(arguments: [
    ("{", "is not JSON: at byte 1, "), ("[]", "the policy is no object"),
    (#"{"Statement":[]}"#, #"has no "Version": "2012-10-17""#),
    (#"{"Version":"2008-10-17","Statement":[]}"#, #"has no "Version": "2012-10-17""#),
    (#"{"Version":"2012-10-17"}"#, "has no Statement"),
    (#"{"Version":"2012-10-17","Statement":{},"Statement":{}}"#, "is not JSON: at byte "),
    (#"{"Version":"2012-10-17","version":"x"}"#, "the policy has a member that a session"),
  ])
  func saysWhatIsNoPolicy(_ text: String, _ start: String) {
    expect(message(Array(text.utf8))?.hasPrefix(start) ?? false)
  }

  @Test(arguments: [
    (
      Self.reading("arn:aws:s3:::b/${user}"),
      "has ${user} in it: credd's placeholder is {user}, without a $"
    ),
    (
      Self.policy(#"{"Effect":"Allow","Action":"s3:{user}","Resource":"*"}"#),
      "has {user} outside the values of Resource and Condition"
    ),
    (
      Self.policy(#"{"Effect":"Allow","Action":"a:b","NotResource":"arn:aws:s3:::{uid}"}"#),
      "has {uid} outside the values of Resource and Condition"
    ),
    (
      Self.policy(
        #"{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":{"Bool":{"{host}":"1"}}}"#),
      "has {host} outside the values of Resource and Condition"
    ),
    (
      Self.reading("arn:aws:s3:::\u{100}"),
      "has a character in it that STS does not take (over U+00FF)"
    ),
    (Self.reading(#"arn:a:b:::\u0007"#), "has a control character in it"),
    (
      Self.reading("arn:a:b:::" + String(repeating: "x", count: 2038)),
      "has 2141 characters without its blanks; STS takes 2048"
    ),
    (
      Self.policy(#"{"Effect":"Allow","Action":"a:b","Resource":"*","Sid":null}"#),
      "has a null in it"
    ),
    // A name would be the name of a variable there.
    (
      Self.reading("arn:aws:s3:::b/${{user}}"),
      "has {user} within a variable of IAM, '${…}', which a name cannot fill"
    ),
    (
      Self.reading("arn:aws:s3:::b/${aws:PrincipalTag/{uid}}"),
      "has {uid} within a variable of IAM, '${…}', which a name cannot fill"
    ),
    (
      Self.reading(#"arn:aws:s3:::b/\u0024{host}"#),
      "has ${host} in it: credd's placeholder is {host}, without a $"
    ),
  ])
  func placesAndCharactersAreThoseOfSTS(_ bytes: [UInt8], _ text: String) {
    expect(message(bytes), equals: text)
  }

  @Test(arguments: [
    (
      #"{"Effect":"Allow","Action":["s3:Get*","ListBucket"],"Resource":"*"}"#,
      "Statement[1].Action names no service: 'ListBucket'; write SERVICE:ACTION such as "
        + "s3:GetObject, or *"
    ),
    (
      #"{"Effect":"Deny","NotAction":"s3:","Resource":"*"}"#,
      "Statement[1].NotAction names no service: 's3:'; write SERVICE:ACTION such as s3:GetObject, "
        + "or *"
    ),
    (
      #"{"Effect":"Allow","Action":"s3:*","Resource":["arn:aws:s3:::b","bucket/*"]}"#,
      "Statement[1].Resource is no ARN: 'bucket/*'; write one of six parts such as "
        + "arn:aws:s3:::bucket/*, or *"
    ),
    (
      #"{"Effect":"Allow","Action":"s3:*","NotResource":"arn:aws:s3:bucket"}"#,
      "Statement[1].NotResource is no ARN: 'arn:aws:s3:bucket'; write one of six parts such as "
        + "arn:aws:s3:::bucket/*, or *"
    ),
    (
      #"{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"StringEqual":{"k":"v"}}}"#,
      "'StringEqual' in Statement[1].Condition is no operator of IAM; did you mean 'StringEquals'?"
    ),
    (
      #"{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"ForEach:Bool":{"k":true}}}"#,
      "'ForEach:Bool' in Statement[1].Condition is no operator of IAM"
    ),
    (
      #"{"Sid":"read all","Effect":"Allow","Action":"s3:*","Resource":"*"}"#,
      "Statement[1].Sid has other characters than letters and digits of ASCII"
    ),
    (
      #"{"Sid":"first","Effect":"Allow","Action":"s3:*","Resource":"*"}"#,
      "Statement[1].Sid is that of an earlier statement: 'first'"
    ),
  ])
  func whatIAMWouldNotTakeIsNamedWithItsPlace(_ statement: String, _ text: String) {
    let first = #"{"Sid":"first","Effect":"Allow","Action":"a:b","Resource":"*"}"#
    expect(message(Self.policy("[\(first),\(statement)]")), equals: text)
  }

  /// A false refusal is worse than a mistake that is missed.
  @Test(arguments: [
    #""Sid":"","Action":"*","Resource":"*""#, #""Sid":"A1","Action":"S3:*","Resource":"*""#,
    #""Action":["s3:Get?bject","ec2:Describe*","*:*"],"Resource":"arn:*:s3:::b""#,
    #""Action":"s3:*","Resource":"arn:aws:s3:*""#, #""Action":"s3:*","Resource":"arn:aws:*""#,
    #""Action":"a:b","Resource":"arn:aws:dynamodb:${aws:RequestedRegion}:*:table/{user}""#,
    #""Action":"a:b","Resource":"${aws:PrincipalTag/arn}""#,
    #""Action":"a:b","Resource":["*","arn:aws:iam::*:role/x","arn:aws:s3:::b/a:b:c"]"#,
    #""Action":"a:b","Resource":"*","Condition":{"ForAllValues:StringLikeIfExists":{"k":["v"]}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"ForAnyValue:ArnNotLike":{"k":"v"}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"Null":{"k":true},"NotIpAddress":{"k":"::/0"}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"NumericLessThanEquals":{"k":7}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"dategreaterthan":{"k":"2026-01-01"}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"BoolIfExists":{"k":false}}"#,
    #""Action":"a:b","Resource":"*","Condition":{"StringNotEqualsIgnoreCase":{"k":"v"}}"#,
  ])
  func whatIAMTakesPasses(_ members: String) throws {
    _ = try SessionPolicy(Self.policy(#"{"Effect":"Deny",\#(members)}"#))
  }

  @Test(arguments: [
    (#""NotAction":"iam:*""#, ["allows by NotAction: all that AWS adds is allowed, too"]),
    (#""Action":["s3:Get*","STS:Assume*"]"#, ["sts:AssumeRole"]),
    (#""Action":"*""#, ["sts:AssumeRole", "iam:PassRole"]), (#""Action":"s3:*""#, []),
    (#""Action":"iam:Pass?ole""#, ["iam:PassRole"]),
  ])
  func warnsOfWaysOut(_ action: String, _ ways: [String]) throws {
    let policy = try SessionPolicy(Self.policy(#"{"Effect":"Allow",\#(action),"Resource":"*"}"#))
    let warnings = ways.map {
      $0.contains(" ")
        ? "Statement \($0)"
        : "Statement allows \($0): by another role a program leaves this policy behind"
    }
    expect(policy.warnings, equals: warnings)
    let denied = try SessionPolicy(Self.policy(#"{"Effect":"Deny",\#(action),"Resource":"*"}"#))
    expect(denied.warnings, equals: [])
  }
}
