import Foundation
import Testing

@testable import DaemonHarness

/// The AWS CLI, boto3 and moto in the virtual environment that `scripts/python-venv` makes.
struct PythonClients {
  static let isWanted =
    ProcessInfo.processInfo.environment["CREDD_SKIP_REAL_CLIENTS"] != "1"

  let folder: String

  /// Makes the virtual environment where it is not there yet, which takes PyPI.
  init(_ name: String = "venv", _ requirements: String = "requirements.txt") throws {
    let root = Repository.root.path
    folder = root + "/build/" + name
    var environment = ProcessInfo.processInfo.environment
    environment["HOME"] = environment["HOME"] ?? "/root"
    let making = try ChildProcess(
      [root + "/scripts/python-venv", folder, root + "/scripts/" + requirements],
      environment: environment)
    let status = try making.wait(.in(.seconds(600)))
    try #require(
      status == 0, "scripts/python-venv failed; CREDD_SKIP_REAL_CLIENTS=1 leaves these tests out")
  }

  /// Runs the AWS CLI with that configuration file and nothing else that is known of AWS.
  func aws(
    _ arguments: String..., configuration: String, environment: [String: String] = [:]
  ) throws -> ChildProcess {
    try run([folder + "/bin/aws"] + arguments, configuration, environment)
  }

  func python(
    _ script: String, _ arguments: String..., configuration: String = "/dev/null",
    environment: [String: String] = [:], within deadline: Deadline = .in(.seconds(60))
  ) throws -> ChildProcess {
    try run(
      [folder + "/bin/python", "-c", script] + arguments, configuration, environment, deadline)
  }

  private func run(
    _ arguments: [String], _ configuration: String, _ environment: [String: String],
    _ deadline: Deadline = .in(.seconds(60))
  ) throws -> ChildProcess {
    let home = try Stage.current().folder
    let usual = [
      "HOME": home, "AWS_CONFIG_FILE": configuration, "AWS_EC2_METADATA_DISABLED": "true",
      "AWS_DEFAULT_REGION": "us-east-1", "NO_PROXY": "127.0.0.1",
    ]
    let process = try ChildProcess(
      arguments, environment: usual.merging(environment, uniquingKeysWith: { $1 }))
    try process.wait(deadline)
    return process
  }

  /// Starts moto's server.
  ///
  /// - Returns: its URL.
  func moto() throws -> String {
    let process = try ChildProcess(
      [folder + "/bin/moto_server", "-H", "127.0.0.1", "-p", "0"],
      environment: ["HOME": try Stage.current().folder])
    var url: String?
    try Deadline.in(.seconds(60)).wait(for: "moto") {
      if let status = process.status {
        throw Overdue("moto: it ended with \(status): \(process.errors)")
      }
      url = (process.output + process.errors).firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)
        .map { String($0.output) }
      return url != nil
    }
    return try #require(url)
  }
}
