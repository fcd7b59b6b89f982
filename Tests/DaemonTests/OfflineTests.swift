import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Offline is not signed out, and back is back. What takes a network of its own is in
/// ``LinkTests``.
@Suite(.onStage)
struct OfflineTests {
  @Test
  func refusedConnections() throws {
    let host = try TestHost {
      OutageStory.configuration(backend: $0.url + "/token", endpoint: $0.url)
    }
    let story = try OutageStory(host)
    host.sandbox.process.stop()
    try story.endure()
    _ = try Sandbox(["--port", String(host.sandbox.port)])
    try story.recover()
  }

  @Test
  func aCaptivePortal() throws {
    let host = try TestHost {
      OutageStory.configuration(backend: $0.url + "/token", endpoint: $0.url)
    }
    let story = try OutageStory(host)
    for service in ["backend", "cognito"] {
      try host.sandbox.plan(#"{"Service":"\#(service)","Kind":"html","Count":-1}"#)
    }
    try story.endure()
    let status = try host.ask(#"{"op":"status"}"#)
    expect(
      status["Sessions"]?[0]?["LastError"]?["Message"]?.text?.contains("captive portal") == true)
    try host.sandbox.clearFaults()
    try story.recover()
  }

  @Test
  func anInterceptorWithAnotherAuthority() throws {
    let tls = try Certificates()
    let trust = "ca_file = \(tls.folder)/server.pem"
    let host = try TestHost(sandbox: tls.server) {
      OutageStory.configuration(
        backend: $0.tlsURL + "/token", endpoint: $0.tlsURL, backend: trust, profile: trust)
    }
    let port = try #require(host.sandbox.tlsURL.split(separator: ":").last.map(String.init))
    let story = try OutageStory(host)
    host.sandbox.process.stop()
    let interceptor = try Sandbox(tls.options("stranger") + ["--tls-port", port])
    try story.endure()
    // Nothing was said to it: no token, no credentials, not even a request.
    expect(try interceptor.callbacks, equals: 0)
    expect(try interceptor.exchanges, equals: 0)
    interceptor.process.stop()
    _ = try Sandbox(tls.server + ["--tls-port", port])
    try story.recover()
  }

  /// The sandbox is taken for a proxy, and shows a proxy's error pages.
  @Test(arguments: [503, 407])
  func errorPagesOfAProxy(_ status: Int) throws {
    let sandbox = try Sandbox()
    let host = try TestHost(environment: ["http_proxy": sandbox.url]) { _ in
      OutageStory.configuration(
        backend: "http://backend.test/token", endpoint: "http://cognito.test",
        backend: "allow_plain_http = yes", profile: "allow_plain_http = yes")
    }
    let story = try OutageStory(host)
    expect(try sandbox.callbacks > 0)
    for service in ["backend", "cognito"] {
      try sandbox.plan(
        #"{"Service":"\#(service)","Kind":"html","Status":\#(status),"Count":-1}"#)
    }
    try story.endure()
    try sandbox.clearFaults()
    try story.recover()
  }

  /// It accepts, and says nothing: stopped, as a virtual machine that is moved.
  @Test
  func aStoppedUpstream() throws {
    let host = try TestHost {
      OutageStory.configuration(backend: $0.url + "/token", endpoint: $0.url, timeout: "2s")
    }
    let story = try OutageStory(host)
    host.sandbox.process.send(SIGSTOP)
    defer { host.sandbox.process.send(SIGCONT) }
    try story.endure()
    host.sandbox.process.send(SIGCONT)
    try story.recover()
  }
}
