import Foundation

/// Certificates made for one test run: an authority, what it signed, and what it did not.
final class Certificates: Sendable {
  let folder: TemporaryFolder

  func path(_ name: String) -> String { "\(folder.path)/\(name).pem" }

  init() throws {
    folder = try TemporaryFolder()
    let script = """
      set -eu; cd "$0"
      touch index; echo 01 > serial
      cat > ca.cnf <<END
      [ca]
      default_ca = own
      [own]
      database = index
      serial = serial
      new_certs_dir = .
      default_md = sha256
      policy = any
      unique_subject = no
      copy_extensions = copy
      [any]
      commonName = supplied
      END
      key() { openssl ecparam -name prime256v1 -genkey -noout -out $1-key.pem; }
      authority() {
        key $1; openssl req -x509 -new -key $1-key.pem -subj "/CN=$1" -days 2 -out $1.pem
      }
      signed() {
        key $1
        openssl req -new -key $1-key.pem -subj "/CN=$1" -addext "subjectAltName=$2" -out $1.csr
        openssl ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca-key.pem -in $1.csr \
          -startdate 20200101000000Z -enddate $3 -out $1.pem
      }
      authority ca; authority other
      signed good DNS:localhost,IP:127.0.0.1 20491231000000Z
      signed wrong DNS:elsewhere.example 20491231000000Z
      signed expired DNS:localhost,IP:127.0.0.1 20200201000000Z
      signed client DNS:client 20491231000000Z
      signed renewed DNS:client 20491231000000Z
      key self; openssl req -x509 -new -key self-key.pem -subj /CN=localhost -days 2 \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -out self.pem
      openssl ec -in client-key.pem -aes128 -passout pass:word -out locked-key.pem
      """
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/bin/sh")
    openssl.arguments = ["-c", script, folder.path]
    let output = Pipe()
    openssl.standardOutput = output
    openssl.standardError = output
    try openssl.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    openssl.waitUntilExit()
    guard openssl.terminationStatus == 0 else {
      throw Failure(output: String(decoding: said, as: UTF8.self))
    }
  }

  struct Failure: Error {
    let output: String
  }
}
