import Foundation
import Glibc
import TestSupport

@testable import DaemonHarness

/// One run of the real credctl, whose lines a function answers.
///
/// The program runs in real time and the service in virtual time: for the program a reply comes at
/// once, whatever it has taken. Nothing here measures or waits for a time.
struct CredctlRun {
  struct Result {
    let output: String
    let errors: String
    let status: Int32
  }

  private let process = Process()
  private let listener: Descriptor
  private let output: Descriptor
  private let errors: Descriptor
  private let answer: (String) throws -> String

  /// Runs credctl to its end.
  ///
  /// - Parameters:
  ///   - input: its standard input.
  ///   - answer: the reply to a line, both without the newline.
  static func result(
    _ arguments: [String], input: String, _ answer: @escaping (String) throws -> String
  ) throws -> Result {
    try Tool.withFolder { folder in
      let socket = folder.appending(path: "sock").path
      let result = try CredctlRun(arguments, at: socket, input, answer).untilEnd()
      return Result(
        output: Masks.path(socket, in: result.output),
        errors: Masks.path(socket, in: result.errors), status: result.status)
    }
  }

  private init(
    _ arguments: [String], at socket: String, _ input: String,
    _ answer: @escaping (String) throws -> String
  ) throws {
    self.answer = answer
    listener = try Descriptor(listeningAt: socket)
    let (standardInput, standardOutput, standardError) = try (
      Descriptor.pipe(), Descriptor.pipe(), Descriptor.pipe()
    )
    output = standardOutput.read
    errors = standardError.read
    process.executableURL = URL(filePath: Programs.credctl)
    process.arguments = ["--socket", socket] + arguments
    process.environment = ["PATH": "/usr/bin:/bin", "USER": "alice", "HOME": "/nonexistent"]
    for name in Sanitizer.variables {
      process.environment?[name] = ProcessInfo.processInfo.environment[name]
    }
    process.standardInput = FileHandle(fileDescriptor: standardInput.read.number)
    process.standardOutput = FileHandle(fileDescriptor: standardOutput.write.number)
    process.standardError = FileHandle(fileDescriptor: standardError.write.number)
    // Far less than a pipe holds.
    try standardInput.write.write(Array(input.utf8))
    try withExtendedLifetime((standardInput, standardOutput, standardError)) { try process.run() }
  }

  /// Serves credctl until it has closed both of its streams.
  private func untilEnd() throws -> Result {
    var text = Data()
    var complaints = Data()
    var open = [output, errors]
    var connections: [LineConnection] = []
    while !open.isEmpty {
      let ready = try Descriptor.ready([listener] + open + connections.map(\.descriptor))
      for descriptor in ready where descriptor === output || descriptor === errors {
        let bytes = descriptor.receive()
        if bytes.isEmpty { open.removeAll { $0 === descriptor } }
        if descriptor === output { text += bytes } else { complaints += bytes }
      }
      for descriptor in ready where descriptor === listener {
        connections.append(LineConnection(try listener.accept()))
      }
      for connection in connections where ready.contains(where: { $0 === connection.descriptor }) {
        try connection.serve(answer)
      }
      connections.removeAll(where: \.hasEnded)
    }
    process.waitUntilExit()
    return Result(
      output: String(decoding: text, as: UTF8.self),
      errors: String(decoding: complaints, as: UTF8.self), status: process.terminationStatus)
  }
}

/// A connection of credctl's.
private final class LineConnection {
  let descriptor: Descriptor
  private(set) var hasEnded = false
  private var unfinished: [UInt8] = []

  init(_ descriptor: Descriptor) {
    self.descriptor = descriptor
  }

  func serve(_ answer: (String) throws -> String) throws {
    let bytes = descriptor.receive()
    hasEnded = bytes.isEmpty
    unfinished += bytes
    while let end = unfinished.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: unfinished[..<end], as: UTF8.self)
      unfinished.removeFirst(end + 1)
      descriptor.send(Array((try answer(line) + "\n").utf8))
    }
  }
}
