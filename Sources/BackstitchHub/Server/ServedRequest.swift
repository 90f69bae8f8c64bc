import BackstitchHubCore
import CloudKitWire

/// What is noted of a request that was answered.
///
/// Nothing in it opens anything or was chosen by a client: no path and no query, which have tokens, and no
/// header but the trace and the numbers of it.
struct ServedRequest: Sendable {
    /// The header that an answer has its name in.
    static let identifierHeader = WireHeader.requestUUID

    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "OPTIONS", "DELETE"]

    /// Milliseconds since 1970.
    var time: Int64
    /// Where it came from; behind a trusted proxy the client that this one tells.
    var address: String
    var method = ""
    /// One of the hub's own words for calls and pages.
    var call: String
    var status: Int
    var nanoseconds = 0
    var requestBytes = 0
    var responseBytes = 0
    /// The name that the answer has, which a client may quote.
    var identifier: String?
    /// Where and as whom the credentials count; nil if there are none, or they don't.
    var signedIn: HubRequest.SignedIn?
    /// Whether a session of that user began with it.
    var beganSession = false
    var trace: TraceParent?

    /// What the access log has of it: one line of JSON.
    var accessLine: String {
        line("access") { json in
            json.member("method", Self.methods.contains(method) ? method : "other")
            writeWork(to: &json)
        }
    }

    /// What is kept of a request that took long: nothing of who sent it but the name in records.
    var slowLine: String {
        var request = self
        (request.address, request.trace) = ("", nil)
        return request.line("slow") { request.writeWork(to: &$0) }
    }

    private func writeWork(to json: inout JSONWriter) {
        json.member("call", call)
        json.member("status", integer: Int64(status))
        json.member("microseconds", integer: Int64(nanoseconds / 1_000))
        json.member("requestBytes", integer: Int64(requestBytes))
        json.member("responseBytes", integer: Int64(responseBytes))
    }

    /// What the audit log has of it; nil if it is nothing to look into.
    var auditLine: String? {
        let event: String
        switch status {
        case _ where beganSession: event = "userSignedIn"
        case 401: event = "signInFailed"
        case 403: event = "accessDenied"
        default: return nil
        }
        return line("audit") { json in
            json.member("event", event)
            json.member("call", call)
        }
    }

    private func line(_ log: String, _ members: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter(capacity: 512)
        json.object { json in
            json.member("time", integer: time)
            json.member("log", log)
            if !address.isEmpty { json.member("client", address) }
            members(&json)
            if let identifier { json.member("request", identifier) }
            if let signedIn {
                json.member("container", signedIn.container)
                json.member("environment", signedIn.environment)
                if let user = signedIn.user { json.member("user", user) }
            }
            if let trace {
                json.member("trace", trace.trace)
                json.member("span", trace.span)
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
