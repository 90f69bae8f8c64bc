/// What a hub does beyond CloudKit, for peers that announce that they know it.
package enum WireExtension: String, Hashable, Sendable, CaseIterable {
    /// Replies of `CONFLICT` and `EXISTS` carry `serverRecord`, the record as the service has it.
    case serverRecord = "server-record"
    /// A `records/modify` with ``WireHeader/requestID`` that comes again gets the first answer.
    case requestID = "request-id"
    /// Pages may have more than 200 records, if `resultsLimit` asks for them.
    case largePages = "large-pages"
    /// Uploads may come in parts, and go on after a cut: `HEAD` tells ``WireHeader/uploadOffset``,
    /// `PATCH` adds at it.
    case resumableUploads = "assets.resume"
    /// A `records/modify` may have the `syncToken` of the zone's feed. The reply has one for the same place of
    /// the feed, by which a hub that lost the modification later finds out.
    case tokenAfterModify = "modify.token"

    /// The extensions that a header names, separated by commas; others are ignored.
    package static func parse(_ header: String?) -> Set<WireExtension> {
        guard let header else { return [] }
        let names = header.split(separator: ",")
        return Set(names.compactMap { WireExtension(rawValue: $0.trimmingBlanks) })
    }

    /// The header that names extensions.
    package static func header(_ extensions: some Sequence<WireExtension>) -> String {
        extensions.map(\.rawValue).sorted().joined(separator: ", ")
    }
}

/// The names of the headers that matter.
package enum WireHeader {
    /// Of a request: the extensions that the client knows. Of a reply: those that the hub has.
    package static let extensions = "X-Backstitch-Extensions"
    /// The name of a request, the same when it is sent again.
    package static let requestID = "X-Backstitch-Request-ID"
    /// The courier token of the sender, which is not told of what it did itself.
    package static let pushToken = "X-Backstitch-Push-Token"
    /// Where a part of an upload begins; in replies, where the next one has to.
    package static let uploadOffset = "Upload-Offset"
    /// The bytes of the whole upload.
    package static let uploadLength = "Upload-Length"
    /// The next web token, in replies.
    package static let webAuthToken = "X-Apple-CloudKit-Web-Auth-Token"
    /// An older name of ``webAuthToken``.
    package static let session = "X-Apple-CloudKit-Session"
    /// Names a reply in the service's logs.
    package static let requestUUID = "X-Apple-Request-UUID"
    /// The id of the key that signed the request.
    package static let keyID = "X-Apple-CloudKit-Request-KeyID"
    /// When it was signed.
    package static let signedDate = "X-Apple-CloudKit-Request-ISO8601Date"
    /// The signature.
    package static let signature = "X-Apple-CloudKit-Request-SignatureV1"
}

extension Substring {
    /// The text without blanks at its ends.
    fileprivate var trimmingBlanks: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
