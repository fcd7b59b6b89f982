import Foundation
import TestSupport
import Testing

@testable import CredCore

/// The words and numbers that are stored. They are those of Tests/Data/Golden, whatever the cases of
/// the code are called.
struct StoredWordsTests {
  /// The profiles of Tests/Data/Golden/fingerprints-1. The values were computed outside this code.
  private static let profiles: [String: (keys: String, backend: String)] = {
    let with = "backend = corp\ndeveloper_provider = login.example.app\n"
    let http = "type = http\nurl = https://auth.example.com/token\n"
    return [
      "none": ("", ""),
      "http": (with, http),
      "http-login": (with, http + "login_url = https://auth.example.com/login\n"),
      "exec": (with, "type = exec\ncommand = /bin/true\n"),
      "cognito": (with, "type = cognito\ncredentials_file = /etc/keys\n"),
      "aws-sample": (with, "type = aws-sample\nurl = https://auth.example.com\napp_name = app\n"),
      "guests": ("guest = yes\n", ""),
      "token-file": (
        "web_identity_token_file = /run/token\nweb_identity_provider = oidc.example.com\n", ""
      ),
      "basic": (
        with + "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/credd\nduration = 2h\n"
          + "policy_file = /etc/policy\npolicy_arns = arn:aws:iam::aws:policy/ReadOnlyAccess\n",
        http
      ),
    ]
  }()

  @Test func fingerprintsAreThoseOfTheFirstRelease() throws {
    let file = URL(filePath: #filePath).appending(path: "../../../Data/Golden/fingerprints-1")
    let lines = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    expect(lines.count, equals: Self.profiles.count)
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      let (keys, backend) = try #require(Self.profiles[words[0]])
      let profile = try fullProfile(
        keys, backend: backend.isEmpty ? "" : "[backend corp]\n\(backend)")
      expect(profile.pool?.description, equals: examplePool)
      expect(profile.identityFingerprint.value, equals: UInt64(words[1], radix: 16), "\(line)")
      expect(profile.credentialsFingerprint.value, equals: UInt64(words[2], radix: 16), "\(line)")
    }
  }

  /// A number that this daemon does not know costs the pause, not the session.
  @Test func anUnknownKindOfFailureIsLeftOut() throws {
    let story = SnapshotStory.resting
    let record = story.record(try fullProfile())
    let known = try #require(record.snapshot.held.pause)
    var bytes = record.encoded
    // The tag of the kind, its length, and the kind of a pause for an unavailable upstream.
    let kind: [UInt8] = [3, 1, 0, 0, 0, 0]
    let places = bytes.indices.filter { bytes[$0...].starts(with: kind) }
    expect(!places.isEmpty)
    for place in places { bytes[place + 5] = 200 }
    let read = try SessionRecord(reading: bytes[...])
    expect(read.snapshot.held.pause == nil)
    expect(read.snapshot.lastFailure == nil)
    expect(read.snapshot.held.backOff, equals: record.snapshot.held.backOff)
    expect(known.failure.failureClass.isTransient)
  }
}
