internal import CCurl
internal import CredCore

extension TransportFailure {
  /// What libcurl's result means for a session.
  init(_ result: CURLcode) {
    switch result {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      self = .nameResolution
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED:
      self = .connect
    case CURLE_OPERATION_TIMEDOUT:
      self = .timeout
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER:
      self = .tls
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_ISSUER_ERROR:
      self = .certificate
    case CURLE_FILESIZE_EXCEEDED:
      self = .tooLarge
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_WEIRD_SERVER_REPLY,
      CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
      self = .malformed
    default:
      self = .reset
    }
  }
}
