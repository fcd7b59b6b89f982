import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// The programs that the endpoint is for: each fetches by an SDK of its own, and renews by itself.
@Suite(.onStage, .enabled(if: PythonClients.isWanted, "left out by CREDD_SKIP_REAL_CLIENTS=1"))
struct EndpointClientsTests {
  /// Calls `key()`, which gives the access key that a program uses now, until there were three. What
  /// asks for objects finds a server of S3 that notes who signs.
  private static let loop = """
    import http.server, json, os, re, subprocess, sys, threading, time, urllib.request

    seen = []

    class S3(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            found = re.search(r"Credential=([A-Z0-9]+)/", self.headers.get("Authorization", ""))
            if found:
                seen.append(found[1])
            listing = "list-type" in self.path or "prefix" in self.path
            body = (b'<?xml version="1.0"?><ListBucketResult><Name>b</Name><KeyCount>0</KeyCount>'
                    b"<IsTruncated>false</IsTruncated></ListBucketResult>") if listing else b"data"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT")
            self.send_header("ETag", '"1"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), S3)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    s3 = f"127.0.0.1:{server.server_port}"

    def signed(request):
        del seen[:]
        try:
            request()
        except Exception as error:
            if not seen:
                raise
        return seen[-1]

    def run(key):
        keys, end = [], time.monotonic() + 90
        while len(keys) < 3 and time.monotonic() < end:
            now = key()
            if now not in keys:
                keys.append(now)
            time.sleep(0.2)
        print(" ".join(keys))
        sys.stdout.flush()
        os._exit(0)

    """

  struct Program: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// In Python, with what ``loop`` defines.
    let script: String
    /// By the file instead of the variable: the program reads no other.
    var readsFile = false
    var needs: String?

    var isThere: Bool { needs.map { Programs.installed($0) != nil } ?? true }
  }

  private static let programs = [
    Program(
      testDescription: "boto3",
      script: """
        import boto3
        credentials = boto3.Session().get_credentials()
        assert credentials.method == "container-role"
        run(lambda: credentials.get_frozen_credentials().access_key)
        """),
    Program(
      testDescription: "curl",
      script: """
        def key():
            text = subprocess.run(
                ["curl", "--silent", "--fail", "--header",
                 "Authorization: " + os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"],
                 os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"]],
                capture_output=True, check=True).stdout
            return json.loads(text)["AccessKeyId"]
        run(key)
        """, needs: "curl"),
    Program(
      testDescription: "awscrt",
      script: """
        from awscrt import auth, io
        bootstrap = io.ClientBootstrap(io.EventLoopGroup(1), io.DefaultHostResolver(
            io.EventLoopGroup(1)))
        provider = auth.AwsCredentialsProvider.new_default_chain(bootstrap)
        run(lambda: provider.get_credentials().result(20).access_key_id)
        """),
    Program(
      testDescription: "pyarrow",
      script: """
        from pyarrow import fs
        files = fs.S3FileSystem(endpoint_override=s3, scheme="http", region="us-east-1")
        run(lambda: signed(lambda: files.get_file_info("b/k")))
        """),
    Program(
      testDescription: "obstore",
      script: """
        from obstore.store import S3Store
        import obstore
        store = S3Store("b", endpoint="http://" + s3, region="us-east-1",
                        client_options={"allow_http": True})
        run(lambda: signed(lambda: obstore.head(store, "k")))
        """, readsFile: true),
    Program(
      testDescription: "GDAL in rasterio",
      script: """
        import itertools, rasterio
        os.environ.update(AWS_S3_ENDPOINT=s3, AWS_HTTPS="NO", AWS_VIRTUAL_HOSTING="FALSE",
                          AWS_REGION="us-east-1", GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR")
        names = itertools.count()
        def read():
            with rasterio.Env():
                rasterio.open(f"/vsis3/b/{next(names)}.tif")
        run(lambda: signed(read))
        """),
    Program(
      testDescription: "rclone",
      script: """
        import socket
        probe = socket.create_server(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        server = subprocess.Popen(
            ["rclone", "rcd", "--rc-no-auth", "--rc-addr", f"127.0.0.1:{port}", "--retries", "1",
             "--low-level-retries", "1"], stderr=subprocess.DEVNULL)
        fs = f":s3,env_auth=true,provider=Other,region=us-east-1,endpoint='http://{s3}':"
        def ask():
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/operations/list",
                json.dumps({"fs": fs, "remote": "b"}).encode(),
                {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=20).read()
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        try:
            keys, end = [], time.monotonic() + 60
            while len(keys) < 3 and time.monotonic() < end:
                now = signed(ask)
                if now not in keys:
                    keys.append(now)
                time.sleep(0.2)
            print(" ".join(keys))
        finally:
            server.kill()
            server.wait()
        """, needs: "rclone"),
  ]

  /// The sandbox's credentials last so few seconds that each program has to fetch again.
  @Test(arguments: programs.filter(\.isThere))
  func aProgramRenewsTwiceByItself(_ program: Program) throws {
    let clients = try PythonClients("venv-endpoint", "requirements-endpoint.txt")
    let endpoint = try EndpointHost(sandbox: ["--credential-lifetime", "8"])
    var variables = try endpoint.variables()
    if program.readsFile, let token = variables.removeValue(forKey: Self.variable) {
      let file = try Stage.current().newFile("token")
      try Data(token.utf8).write(to: URL(filePath: file))
      variables["\(Self.variable)_FILE"] = file
    }
    variables["PATH"] = ProcessInfo.processInfo.environment["PATH"]
    let python = try clients.python(
      Self.loop + program.script, environment: variables, within: .in(.seconds(120)))
    let keys = python.output.split(whereSeparator: \.isWhitespace)
    expect(Set(keys).count, equals: 3, "\(python.output) \(python.errors)")
    expect(try endpoint.host.sandbox.exchanges >= 3)
  }

  private static let variable = "AWS_CONTAINER_AUTHORIZATION_TOKEN"

  /// The lines that docs/units.md has for a unit are all that these need. Each reads another name of
  /// the region.
  @Test func theLinesForAUnitAreEnoughForBoto3AndTheAWSCLI() throws {
    let clients = try PythonClients()
    let endpoint = try EndpointHost()
    let token = try Stage.current().newFile("token")
    try Data(endpoint.token().utf8).write(to: URL(filePath: token))
    let unit = try PageSection("Five lines in the unit", of: "docs/units.md")
    var variables: [String: String] = [:]
    for line in try #require(unit.blocks.first).text.split(separator: "\n") {
      let words = line.split(separator: "=", maxSplits: 2)
      guard words[0] == "Environment" else { continue }
      variables[String(words[1])] = String(words[2]).replacing("%d/credd.work", with: token)
        .replacing(":337/credentials/work", with: ":\(endpoint.port)/credentials/default")
        // The tests' own environment has the former.
        .replacing("us-east-1", with: "eu-west-1")
    }
    let python = try clients.python(
      """
      import boto3
      client = boto3.client("s3")
      print(client.meta.region_name, client.generate_presigned_url("list_buckets"))
      """, environment: variables)
    expect(python.output.contains(/^eu-west-1 .*ASIA/), "\(python.output) \(python.errors)")
    let aws = try clients.aws(
      "configure", "list", configuration: "/dev/null", environment: variables)
    expect(aws.output.contains("container-role"), "\(aws.output) \(aws.errors)")
    expect(aws.output.contains(#/region +eu-west-1 /#), "\(aws.output) \(aws.errors)")
  }

  @Test func theAWSCLIGetsWhatIsValidNow() throws {
    let clients = try PythonClients()
    let endpoint = try EndpointHost(sandbox: ["--credential-lifetime", "8"])
    let variables = try endpoint.variables()
    var keys: Set<String> = []
    try Deadline.in(.seconds(90)).wait(for: "three access keys") {
      // It signs, and asks no server.
      let aws = try clients.aws(
        "s3", "presign", "s3://bucket/object", configuration: "/dev/null", environment: variables)
      try #require(aws.status == 0, "\(aws.errors)")
      keys.insert(String(try #require(aws.output.firstMatch(of: /ASIA[0-9A-Z]{16}/)).output))
      return keys.count == 3
    }
  }
}
