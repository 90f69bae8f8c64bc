import BackstitchHubCore

/// Why a bucket did not do what a hub asked for. The message says what to do and has no secret.
struct BucketFailure: StorageFailure, Hashable, CustomStringConvertible {
    enum Kind: String, Hashable {
        /// There is no such object.
        case missing
        /// There is no such bucket, or it is in another region.
        case noBucket
        /// The credentials, the clock or the rights are not good.
        case refused
        /// The service has too much to do, or failed.
        case busy
        /// The service can't be reached, or broke off.
        case away
        /// What came is not what was sent.
        case damaged
        /// Something else was said, which trying again does not change.
        case unknown
    }

    let kind: Kind
    let description: String
    /// How long the service wants to be left alone, in milliseconds.
    var pauseMilliseconds: Int?

    var isAboutSpace: Bool { false }
    /// Clients try again later, also after what an operator has to set right.
    var isPassing: Bool { kind != .missing }

    /// Whether the same request may go well a moment later.
    var isWorthRetrying: Bool { [.busy, .away, .damaged].contains(kind) }

    /// A failure of the network.
    init(away bucket: Bucket, _ reason: String) {
        kind = .away
        description =
            "The bucket \(bucket.label) can't be reached: \(reason). Records go on without it."
    }

    init(busy bucket: Bucket, _ reason: String) {
        kind = .busy
        description = "The bucket \(bucket.label) has to be waited for: \(reason)."
    }

    init(damaged bucket: Bucket, _ reason: String) {
        kind = .damaged
        description = "The bucket \(bucket.label) did not keep or send what it should: \(reason)."
    }

    /// A failure that a service answered with.
    ///
    /// - Parameters:
    ///   - body: Its document in XML, which may be missing.
    init(_ bucket: Bucket, status: Int, body: [UInt8], retryAfter: String? = nil) {
        let told = XMLText(body).first("Code") ?? ""
        // Nothing else of what a stranger answers gets into a log.
        let code = String(told.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(64))
        kind = Self.kind(status, code)
        let said = code.isEmpty ? "status \(status)" : "\(code), status \(status)"
        let advice: String
        switch kind {
        case .missing: advice = "lacks an object"
        case .noBucket: advice = "is not there. Check --bucket and --bucket-region"
        case .refused: advice = "refuses the hub. Check the credentials, their rights and the clock"
        case .busy: advice = "has too much to do. Records go on without it"
        case .damaged, .away: advice = "got something else than was sent"
        case .unknown: advice = "does not do what it should. Is it an S3-compatible service?"
        }
        description = "The bucket \(bucket.label) \(advice) (\(said))."
        if kind == .busy, let seconds = retryAfter.flatMap({ Int($0) }) {
            pauseMilliseconds = min(max(0, seconds), 3_600) * 1_000
        }
    }

    private static func kind(_ status: Int, _ code: String) -> Kind {
        switch code {
        case "NoSuchKey", "NoSuchUpload": return .missing
        case "NoSuchBucket", "PermanentRedirect", "TemporaryRedirect", "InvalidBucketName",
            "AuthorizationHeaderMalformed":
            return .noBucket
        case "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout",
            "OperationAborted", "RequestLimitExceeded", "Throttling", "TooManyRequests":
            return .busy
        case "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch",
            "InvalidPart", "IncompleteBody", "InvalidDigest":
            return .damaged
        default: break
        }
        switch status {
        case 404: return .missing
        case 300...399: return .noBucket
        case 401, 403: return .refused
        case 408, 425, 429, 500...599: return .busy
        default: return .unknown
        }
    }
}

extension Bucket {
    /// How messages name it.
    var label: String { "'\(name)' at '\(host)'" }
}
