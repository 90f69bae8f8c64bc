import CloudKitWire

@testable import CloudKitRecordService

/// How a client and a service speak to each other, beyond what CloudKit has.
///
/// What one of them does beyond CloudKit it announces, and what the other one has not announced is not
/// assumed. So versions that are next to each other work together, and each of these has to do.
enum WireSpeech: CaseIterable {
    /// As both are.
    case current
    /// As the first version did, of the client or of the hub: it knew these extensions and nothing since.
    case first
    /// As Apple's service and other clients do: with no extensions at all.
    case plain

    private static let firstExtensions: Set<String> = [
        "large-pages", "request-id", "server-record",
    ]

    /// The request as it arrives.
    func arriving(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        switch self {
        case .current: break
        case .plain: request.headers.removeAll { $0.name.hasPrefix("X-Backstitch") }
        case .first:
            request.headers = request.headers.compactMap { header in
                switch header.name {
                case WireHeader.extensions: (header.name, Self.first(header.value))
                case WireHeader.requestID, WireHeader.pushToken: header
                default: header.name.hasPrefix("X-Backstitch") ? nil : header
                }
            }
        }
        return request
    }

    /// The reply as it arrives.
    func arriving(_ reply: HTTPReply) -> HTTPReply {
        var reply = reply
        let name = WireHeader.extensions.lowercased()
        switch self {
        case .current: break
        case .plain: reply.headers[name] = nil
        case .first: reply.headers[name] = reply.headers[name].map(Self.first)
        }
        return reply
    }

    /// The names of a header that the first version knew.
    private static func first(_ header: String) -> String {
        header.split(separator: ",").map { $0.filter { $0 != " " } }
            .filter(firstExtensions.contains).sorted().joined(separator: ", ")
    }
}
