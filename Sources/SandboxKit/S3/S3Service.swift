import FoundationEssentials

/// A door to objects, as S3 has it: GetObject, HeadObject, PutObject and ListObjectsV2, in the path
/// style (S3 API reference, 2006-03-01). It asks all policies of the session that signed.
enum S3Service {
  private static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

  enum Operation: String {
    case getObject = "GetObject"
    case headObject = "HeadObject"
    case putObject = "PutObject"
    case listObjects = "ListObjectsV2"

    /// The permission that it wants.
    fileprivate var action: String {
      switch self {
      case .getObject, .headObject: "s3:GetObject"
      case .putObject: "s3:PutObject"
      case .listObjects: "s3:ListBucket"
      }
    }
  }

  /// The operation of a request; nil if the request was not signed for S3.
  static func operation(of request: HTTPRequest) -> String? {
    guard SignatureV4.service(of: request) == SignatureV4.Service.s3.name else { return nil }
    return ObjectRequest(request)?.operation.rawValue ?? "Unknown"
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      if fault == .expiredToken { throw SignedCaller.expired(for: .s3) }
      let caller = try state.caller(of: request, for: .s3, at: now)
      guard let call = ObjectRequest(request) else {
        throw ServiceError(
          status: 501, "NotImplemented", "The sandbox gets, puts and lists objects, no more.")
      }
      return try state.reply(to: call, by: caller, request.body)
    } catch {
      return reply(with: error)
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply {
    xml(
      XMLElement(
        "Error", [XMLElement("Code", error.code), XMLElement("Message", error.message)]),
      status: error.status)
  }

  fileprivate static func list(
    _ bucket: String, _ prefix: String, _ objects: [(key: String, size: Int)]
  ) -> HTTPReply {
    let contents = objects.map {
      XMLElement(
        "Contents", [XMLElement("Key", $0.key), XMLElement("Size", String($0.size))])
    }
    return xml(
      XMLElement(
        "ListBucketResult", namespace: namespace,
        [
          XMLElement("Name", bucket), XMLElement("Prefix", prefix),
          XMLElement("KeyCount", String(objects.count)), XMLElement("IsTruncated", "false"),
        ] + contents), status: 200)
  }

  private static func xml(_ element: XMLElement, status: Int) -> HTTPReply {
    HTTPReply(
      status: status, headers: [HTTPField("Content-Type", "application/xml")],
      body: Array(element.text().utf8))
  }
}

/// A request for an object or for the list of a bucket.
private struct ObjectRequest {
  let operation: S3Service.Operation
  let bucket: String
  /// Empty for a list.
  let key: String
  let prefix: String

  init?(_ request: HTTPRequest) {
    let path = percentDecoded(request.path.dropFirst()) ?? ""
    let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bucket = parts.first, !bucket.isEmpty else { return nil }
    self.bucket = String(bucket)
    key = parts.count > 1 ? String(parts[1]) : ""
    let query = FormParameters(request.query)
    prefix = query["prefix"] ?? ""
    // An SDK names itself with x-id. Any other parameter would mean another operation.
    let known: Set = ["x-id", "list-type", "prefix", "encoding-type", "max-keys"]
    guard query.names.isSubset(of: known) else { return nil }
    switch (request.method, key.isEmpty) {
    case ("GET", false): operation = .getObject
    case ("HEAD", false): operation = .headObject
    case ("PUT", false): operation = .putObject
    case ("GET", true) where query["list-type"] == "2": operation = .listObjects
    default: return nil
    }
  }

  /// What the policies are asked.
  func access(in partition: String) -> AccessRequest {
    let bucket = "arn:\(partition):s3:::\(bucket)"
    guard operation == .listObjects else {
      return AccessRequest(action: operation.action, resource: bucket + "/" + key)
    }
    return AccessRequest(
      action: operation.action, resource: bucket, values: ["s3:prefix": prefix])
  }
}

extension SandboxState {
  fileprivate mutating func reply(
    to call: ObjectRequest, by caller: SignedCaller, _ body: [UInt8]
  ) throws(ServiceError) -> HTTPReply {
    let session = try caller.session()
    let request = call.access(in: Role.part(1, of: session.role))
    try require(request, of: session)
    // There are no policies of buckets: another account's is closed.
    guard objects.owner(of: call.bucket) == session.account else {
      throw SandboxState.notAuthorized(session.arn, request)
    }
    switch call.operation {
    case .listObjects:
      return S3Service.list(
        call.bucket, call.prefix, objects.keys(of: call.bucket, prefix: call.prefix))
    case .putObject:
      guard objects.store(body, in: call.bucket, as: call.key) else {
        throw ServiceError(status: 503, "SlowDown", "Too many objects for the sandbox.")
      }
      return HTTPReply(headers: [HTTPField("ETag", "\"sandbox\"")])
    case .getObject, .headObject:
      guard let content = objects[call.bucket, call.key] else {
        throw ServiceError(status: 404, "NoSuchKey", "The specified key does not exist.")
      }
      return HTTPReply(
        headers: [
          HTTPField("Content-Type", "binary/octet-stream"), HTTPField("ETag", "\"sandbox\""),
        ], body: call.operation == .headObject ? [] : content)
    }
  }
}
