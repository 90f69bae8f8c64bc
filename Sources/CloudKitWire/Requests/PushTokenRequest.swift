/// The body of `tokens/create`, and with a token of `tokens/register`.
package struct PushTokenRequest: Hashable, Sendable, WireBody {
    package var apnsEnvironment: String
    package var apnsToken: String?

    package init(apnsEnvironment: String, apnsToken: String? = nil) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
    }

    package init(json: JSONObject) throws(WireFormatError) {
        apnsEnvironment = try json.requiredText("apnsEnvironment")
        apnsToken = try json.text("apnsToken")
    }

    package func write(to json: inout JSONWriter) {
        json.member("apnsEnvironment", apnsEnvironment)
        json.member("apnsToken", apnsToken)
    }
}
