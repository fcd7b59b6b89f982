import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// Proxies and browsers of a user who may have credentials get none for those who use them.
@Suite(.onStage)
struct EndpointProxyTests {
  @Test(
    .enabled(
      if: Programs.installed("tinyproxy") != nil && Programs.installed("curl") != nil,
      "takes tinyproxy and curl"))
  func aForwardProxyOfAPermittedUserIsRefused() throws {
    let endpoint = try EndpointHost()
    let port = try FreePort.any()
    let file = try Stage.current().newFile("tinyproxy.conf")
    try Data("Port \(port)\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 8\n".utf8)
      .write(to: URL(filePath: file))
    let proxy = try ChildProcess(["/usr/bin/tinyproxy", "-d", "-c", file])
    defer { proxy.send(SIGTERM) }
    try Deadline.usual.wait(for: "tinyproxy") { (try? StreamSocket(port: port)) != nil }
    let curl = try endpoint.host.run([
      "/usr/bin/curl", "--silent", "--noproxy", "", "--proxy", "http://127.0.0.1:\(port)",
      "--header", "Authorization: \(try endpoint.token())",
      "http://127.0.0.1:\(endpoint.port)/credentials/default",
    ])
    expect(curl.output.contains("through a browser or a proxy"), "\(curl)")
    expect(try endpoint.host.sandbox.callbacks, equals: 0)
  }

  /// The ways in which nginx is usually told to pass requests on, and what its user gets. A proxy that
  /// speaks HTTP/1.1, adds nothing and is given the token is as good as its user.
  private static let reverseProxies = [
    ("", true, "400"),
    ("proxy_http_version 1.1; proxy_set_header X-Forwarded-For $remote_addr;", true, "403"),
    ("proxy_http_version 1.1; proxy_set_header Host $host;", true, "403"),
    ("proxy_http_version 1.1; proxy_set_header Connection '';", false, "401"),
  ]

  @Test(
    .enabled(
      if: Programs.installed("nginx") != nil && Programs.installed("curl") != nil,
      "takes nginx and curl"),
    arguments: reverseProxies)
  func aReverseProxyOfAPermittedUserIsRefused(
    _ keys: String, _ knowsToken: Bool, _ status: String
  ) throws {
    let endpoint = try EndpointHost()
    let port = try FreePort.any()
    let folder = try Stage.current().newFile("nginx")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let file = folder + "/nginx.conf"
    let own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
    try Data(
      """
      daemon off; master_process off; pid \(folder)/pid; error_log stderr;
      events {}
      http { access_log off; \(own)
        server { listen 127.0.0.1:\(port); server_name proxy.example;
          location / { proxy_pass http://127.0.0.1:\(endpoint.port); \(keys) } } }

      """.utf8
    ).write(to: URL(filePath: file))
    let proxy = try ChildProcess(["/usr/sbin/nginx", "-c", file, "-e", "stderr"])
    defer { proxy.send(SIGTERM) }
    try Deadline.usual.wait(for: "nginx") { (try? StreamSocket(port: port)) != nil }
    let token = knowsToken ? ["--header", "Authorization: \(try endpoint.token())"] : []
    let curl = try endpoint.host.run(
      [
        "/usr/bin/curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out",
        "%{http_code}", "--header", "Host: proxy.example",
      ] + token + ["http://127.0.0.1:\(port)/credentials/default"])
    expect(curl.output, equals: status, "\(curl.errors) \(proxy.errors)")
    expect(try endpoint.host.sandbox.callbacks, equals: 0)
  }

  // MARK: Browsers

  /// A page that knows a token of its user and fetches the endpoint in every way that it has. The
  /// browser finds the rebound name in the hosts file, as after a DNS rebinding.
  private static let page = """
    import http.server, json, subprocess, sys, threading
    port, token, browser, folder = int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
    found, done = [], threading.Event()
    page = '''<!doctype html><body><script>
    const hosts = ["127.0.0.1", "localhost", "rebound.example"], results = [];
    const attempt = async (host, options) => {
      try {
        const answer = await fetch(`http://${host}:PORT/credentials/default`, options);
        results.push(`${host} ${options.mode} ${answer.type} ${answer.status} ${await answer.text()}`);
      } catch (error) { results.push(`${host} ${options.mode} ${error}`); }
    };
    const load = (name, url) => new Promise(end => {
      const element = document.createElement(name);
      element.onload = () => { results.push(`${name} loaded`); end(); };
      element.onerror = () => { results.push(`${name} failed`); end(); };
      element.src = url;
      document.body.append(element);
      setTimeout(end, 5000);
    });
    (async () => {
      for (const host of hosts) {
        await attempt(host, {mode: "cors"});
        await attempt(host, {mode: "no-cors"});
        await attempt(host, {mode: "cors", headers: {"Authorization": "TOKEN"}});
        await attempt(host, {mode: "no-cors", headers: {"Authorization": "TOKEN"}});
        await attempt(host, {mode: "no-cors", referrerPolicy: "no-referrer", credentials: "include"});
        for (const name of ["img", "script", "iframe"])
          await load(name, `http://${host}:PORT/credentials/default`);
      }
      await fetch("/results", {method: "POST", body: JSON.stringify(results)});
    })();
    </script>'''.replace("PORT", str(port)).replace("TOKEN", token).encode()

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def do_POST(self):
            found.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hosts = folder + ".hosts"
    with open(hosts, "w") as file:
        file.write("127.0.0.1 localhost rebound.example\\n")
    chromium = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts,
         browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-extensions", f"--user-data-dir={folder}",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
         "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done.wait(90)
    chromium.kill()
    chromium.wait()
    print("\\n".join(found))
    """

  @Test(
    .enabled(
      if: Programs.installed("chromium") != nil && PythonScript.canRun && geteuid() == 0,
      "takes chromium, python3 and root"))
  func aPageInABrowserGetsNothing() throws {
    let endpoint = try EndpointHost()
    let script = try PythonScript(Self.page)
    let folder = try Stage.current().newFile("chromium")
    let process = try script.start(
      endpoint.host,
      ["\(endpoint.port)", try endpoint.token(), "/usr/bin/chromium", folder])
    try process.wait(.in(.seconds(120)))
    let found = process.output.split(separator: "\n")
    expect(found.count >= 15, "\(process.output) \(process.errors)")
    expect(!process.output.contains("AccessKeyId") && !process.output.contains(" 200 "))
    // It did try: the browser itself stopped none of them. It asks once for each name whether it may
    // send a token.
    expect(
      try endpoint.sample(
        "credd_requests_total{op=\"none\",transport=\"http\",code=\"not_an_sdk\"}") >= 9)
    expect(
      try endpoint.sample(
        "credd_requests_total{op=\"none\",transport=\"http\",code=\"method\"}") >= 3)
    expect(try endpoint.host.sandbox.callbacks, equals: 0)
  }
}
