public import CCurl
public import CredCore
internal import Glibc

/// One request under way by libcurl: what libcurl is told of it, and what libcurl says of its end. Whoever
/// owns it drives libcurl.
///
/// libcurl must be loaded before the handle is made.
@safe public final class HTTPTransfer {
  /// libcurl's easy handle. Its owner frees it after ``finish(_:)``.
  public let handle: UnsafeMutableRawPointer
  private let limit: Int
  private let done: (Result<HTTPReply, TransportFailure>) -> Void
  private var headerList: UnsafeMutablePointer<curl_slist>?
  private var headers: [HTTPReply.Header] = []
  private var body: [UInt8] = []
  private var isTooLarge = false
  private(set) var headerBytes = 0
  /// Host and port of the URL, and the proxy, for messages.
  private(set) var server = ""
  private(set) var isEncrypted = false
  /// Whether it has opened a socket, and has no connection to the server yet. Not so on a kept connection.
  private(set) var isConnecting = false
  let proxy: Proxy?
  /// libcurl's text about a failure. It may repeat secrets, so it is read, and shown nowhere.
  let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: errorTextSize)
  private static let errorTextSize = Int(CURL_ERROR_SIZE)
  /// The result of the first option that libcurl did not accept.
  private var setUp = CURLE_OK
  /// libcurl's description of the connection; nil unless the settings ask for it.
  private var connection: HTTPConnection?
  /// Called with true when the transfer begins to connect, and with false when it has a connection;
  /// set by its owner.
  public var connects: ((Bool) -> Void)?
  /// The most bytes of all headers, with the headers of interim replies and proxies. A real reply
  /// has some 1,000.
  private static let headerLimit = 64 << 10

  /// - Parameters:
  ///   - limit: of the reply's body, in bytes.
  ///   - proxy: by which the request goes; nil without one.
  ///   - done: called by what ``finish(_:)`` returns.
  public init(
    _ handle: UnsafeMutableRawPointer, limit: Int, proxy: Proxy?,
    done: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    unsafe self.handle = handle
    self.proxy = proxy
    unsafe errorText.initialize(repeating: 0, count: Self.errorTextSize)
    self.limit = limit
    self.done = done
  }

  deinit {
    unsafe credd_curl_list_free(headerList)
    unsafe errorText.deallocate()
  }

  // MARK: Before

  /// Sets every option. After an error the transfer must not start, because it could be insecure.
  public func prepare(_ request: HTTPRequest, _ settings: HTTPSettings) -> CURLcode {
    record(unsafe credd_curl_set_error_text(handle, errorText))
    let url = try? HTTPURL(request.url)
    (server, isEncrypted) = (url?.authority ?? "the server", url?.isEncrypted ?? false)
    text(CURLOPT_URL, request.url)
    record(unsafe credd_curl_allow_only_http(handle))
    // Sends the checked path unchanged: libcurl would otherwise resolve ".." in it.
    number(CURLOPT_PATH_AS_IS, 1)
    number(CURLOPT_NOSIGNAL, 1)
    record(unsafe credd_curl_leave_resolver(handle))
    number(CURLOPT_FOLLOWLOCATION, 0)
    number(CURLOPT_TIMEOUT_MS, max(1, Int(settings.timeout.inSeconds * 1000)))
    number(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    number(CURLOPT_SSL_VERIFYPEER, 1)
    number(CURLOPT_SSL_VERIFYHOST, 2)
    // For the names of a certificate that is for another host.
    number(CURLOPT_CERTINFO, 1)
    if let caFile = settings.caFile {
      text(CURLOPT_CAINFO, caFile)
      // By default libcurl also trusts the system's directory of authorities.
      record(unsafe credd_curl_set_text(handle, CURLOPT_CAPATH, nil))
    }
    text(CURLOPT_SSLCERT, settings.clientCertificate)
    text(CURLOPT_SSLKEY, settings.clientKey)
    // An encrypted key is an error: OpenSSL would ask for the passphrase on the terminal.
    text(CURLOPT_KEYPASSWD, "")
    text(CURLOPT_UNIX_SOCKET_PATH, settings.unixSocket)
    if settings.isSentOnce { number(CURLOPT_FRESH_CONNECT, 1) }
    text(CURLOPT_USERAGENT, "credd/\(Version.current)")
    // An empty text means none, whatever the environment says.
    text(CURLOPT_PROXY, proxy?.url.exposedText() ?? "")
    text(CURLOPT_NOPROXY, "")
    number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // libcurl would keep it for a minute whatever DNS says, and go on calling an address that the name has left.
    number(CURLOPT_DNS_CACHE_TIMEOUT, 0)
    setHeaders(request.headers)
    if request.method == .post { setBody(request.body.bytes) }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe watchConnecting(context)
    unsafe credd_curl_set_writer(
      handle,
      { data, size, count, context in unsafe HTTPTransfer.took(data, size * count, context) },
      context)
    unsafe credd_curl_set_header_reader(
      handle,
      { data, size, count, context in unsafe HTTPTransfer.tookHeader(data, size * count, context) },
      context)
    if settings.describesConnection {
      connection = HTTPConnection()
      record(
        unsafe credd_curl_set_narrator(
          handle,
          { _, kind, data, count, context in
            if kind == CURLINFO_TEXT { unsafe HTTPTransfer.said(data, count, context) }
            return 0
          }, context))
    }
    return setUp
  }

  private func record(_ result: CURLcode) {
    if setUp == CURLE_OK { setUp = result }
  }

  private func text(_ option: CURLoption, _ value: String?) {
    guard let value else { return }
    record(unsafe credd_curl_set_text(handle, option, value))
  }

  private func number(_ option: CURLoption, _ value: Int) {
    record(unsafe credd_curl_set_long(handle, option, value))
  }

  private func setHeaders(_ headers: [HTTPHeader]) {
    // Without this libcurl would wait for "100 Continue" on large bodies.
    unsafe append("Expect:")
    for header in headers {
      var line = Array("\(header.name): ".utf8)
      header.value.append(to: &line)
      line.append(0)
      unsafe line.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        unsafe base.withMemoryRebound(to: CChar.self, capacity: buffer.count) {
          unsafe append($0)
        }
      }
    }
    record(unsafe credd_curl_set_pointer(handle, CURLOPT_HTTPHEADER, headerList))
  }

  /// If there is no memory, the request is not sent, because it would lack headers.
  private func append(_ header: UnsafePointer<CChar>) {
    guard let longer = unsafe credd_curl_list_append(headerList, header) else {
      return record(CURLE_OUT_OF_MEMORY)
    }
    unsafe headerList = longer
  }

  private func setBody(_ bytes: [UInt8]) {
    number(CURLOPT_POST, 1)
    record(unsafe credd_curl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, bytes.count))
    unsafe bytes.withUnsafeBytes {
      record(unsafe credd_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress))
    }
  }

  private func watchConnecting(_ context: UnsafeMutableRawPointer) {
    record(
      unsafe credd_curl_set_connect_callbacks(
        handle,
        { context, _, _ in
          unsafe HTTPTransfer.from(context)?.isConnecting = true
          unsafe HTTPTransfer.from(context)?.connects?(true)
          return CURL_SOCKOPT_OK
        },
        { context, _, _, _, _ in
          unsafe HTTPTransfer.from(context)?.isConnecting = false
          unsafe HTTPTransfer.from(context)?.connects?(false)
          return CURL_PREREQFUNC_OK
        }, context))
  }

  // MARK: Meanwhile

  private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// Any result other than `count` ends the transfer.
  private static func took(
    _ data: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
  ) -> Int {
    guard let transfer = unsafe from(context), let data = unsafe data else { return 0 }
    guard transfer.body.count + count <= transfer.limit else {
      transfer.isTooLarge = true
      return 0
    }
    unsafe transfer.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: count))
    return count
  }

  private static func tookHeader(
    _ data: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
  ) -> Int {
    guard let transfer = unsafe from(context), let data = unsafe data else { return 0 }
    transfer.headerBytes += count
    guard transfer.headerBytes <= headerLimit else {
      transfer.isTooLarge = true
      return 0
    }
    let line = unsafe String(
      decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
    transfer.tookHeader(line)
    return count
  }

  private static func said(
    _ data: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?
  ) {
    guard let transfer = unsafe from(context), let data = unsafe data else { return }
    let line = unsafe String(
      decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
    transfer.said(line)
  }

  /// Takes libcurl's messages for people, of which a few are used.
  private func said(_ line: String) {
    let text = String(decoding: line.utf8.trimmed, as: UTF8.self)
    let prefix = "SSL connection using "
    if text.hasPrefix(prefix) {
      connection?.tls = String(text.dropFirst(prefix.count))
    } else if ["subject:", "expire date:", "issuer:"].contains(where: { text.hasPrefix($0) }) {
      let known = connection?.certificate.map { $0 + ", " } ?? "certificate "
      connection?.certificate = String((known + text).prefix(512))
    }
  }

  private func describeConnection() {
    var address: UnsafePointer<CChar>?
    var port = 0
    guard connection != nil, unsafe credd_curl_peer(handle, &address, &port) != 0,
      let address = unsafe address
    else { return }
    connection?.address = unsafe "\(String(cString: address)) port \(port)"
  }

  private func tookHeader(_ line: String) {
    // A status line starts the headers of another reply. The former one was a proxy's or an interim
    // reply.
    if line.hasPrefix("HTTP/") { return headers.removeAll() }
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
    let value = String(decoding: line.utf8[colon...].dropFirst().trimmed, as: UTF8.self)
    headers.append(HTTPReply.Header(name: String(line[..<colon]), value: value))
  }

  // MARK: After

  /// Returns a closure that calls the completion, to be run after the handle is freed.
  public func finish(_ result: CURLcode) -> () -> Void {
    guard result == CURLE_OK else {
      let failure = isTooLarge ? .tooLarge : failure(result)
      return { [done] in done(.failure(failure)) }
    }
    var status = 0
    unsafe credd_curl_status(handle, &status)
    var reply = HTTPReply(status: status, headers: headers, body: Secret(body))
    describeConnection()
    reply.connection = connection
    return { [done] in done(.success(reply)) }
  }
}
