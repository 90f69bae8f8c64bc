import BackstitchCore

/// What a service answers in place of what was asked: for a whole request or for one item of it.
package struct WireError: Error, Hashable, Sendable, WireBody {
    /// One of ``WireErrorCode``, or another that is not known here.
    package var serverErrorCode: String
    package var reason: String
    /// Seconds after which to try again.
    package var retryAfter: Double?
    /// Names the failure in the service's logs.
    package var uuid: String?
    /// Where a user signs in.
    package var redirectURL: String?
    /// The record as the service has it, if both sides know this extension.
    package var serverRecord: WireRecord?

    package init(
        _ code: WireErrorCode, _ reason: String, retryAfter: Double? = nil,
        serverRecord: WireRecord? = nil
    ) {
        serverErrorCode = code.rawValue
        self.reason = reason
        self.retryAfter = retryAfter
        self.serverRecord = serverRecord
    }

    /// The code, if it is a known one.
    package var code: WireErrorCode? { WireErrorCode(rawValue: serverErrorCode) }

    package init(json: JSONObject) throws(WireFormatError) {
        guard let error = try WireError(itemOf: json) else {
            throw JSONObject.missing("serverErrorCode")
        }
        self = error
    }

    /// The error that an item of a reply is; nil if it is no error.
    package init?(itemOf json: JSONObject) throws(WireFormatError) {
        guard
            let code = try json.text("serverErrorCode", "extensionErrorCode")
        else { return nil }
        serverErrorCode = code
        // An error is one, whatever form the rest has.
        reason = json.value("reason")?.text ?? ""
        retryAfter = json.value("retryAfter")?.finiteNumber
        uuid = json.value("uuid")?.text
        redirectURL = (json.value("redirectURL") ?? json.value("redirectUrl"))?.text
        serverRecord = try json.object("serverRecord").map(WireRecord.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("uuid", uuid)
        json.member("serverErrorCode", serverErrorCode)
        json.member("reason", reason)
        json.member("retryAfter", number: retryAfter)
        json.member("redirectURL", redirectURL)
        json.member("serverRecord", serverRecord)
    }
}
