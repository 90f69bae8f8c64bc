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
        reason = try json.text("reason") ?? ""
        retryAfter = try json.number("retryAfter")
        uuid = try json.text("uuid")
        redirectURL = try json.text("redirectURL", "redirectUrl")
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
