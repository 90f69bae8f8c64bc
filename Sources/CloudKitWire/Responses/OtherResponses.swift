package import BackstitchCore

/// The reply to all calls about subscriptions.
package struct SubscriptionsResponse: Hashable, Sendable, WireBody {
    package var subscriptions: [WireItem<WireSubscription>]

    package init(subscriptions: [WireItem<WireSubscription>]) {
        self.subscriptions = subscriptions
    }

    package init(json: JSONObject) throws(WireFormatError) {
        subscriptions = try json.requiredObjects(
            "subscriptions", WireItem<WireSubscription>.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("subscriptions", bodies: subscriptions)
    }
}

/// The reply to `tokens/create`.
package struct PushTokenResponse: Hashable, Sendable, WireBody {
    package var apnsEnvironment: String
    package var apnsToken: String
    /// The address that answers with the next notification.
    package var webcourierURL: String

    package init(apnsEnvironment: String, apnsToken: String, webcourierURL: String) {
        self.apnsEnvironment = apnsEnvironment
        self.apnsToken = apnsToken
        self.webcourierURL = webcourierURL
    }

    package init(json: JSONObject) throws(WireFormatError) {
        apnsEnvironment = try json.requiredText("apnsEnvironment")
        apnsToken = try json.requiredText("apnsToken")
        webcourierURL = try json.requiredText("webcourierURL")
    }

    package func write(to json: inout JSONWriter) {
        json.member("apnsEnvironment", apnsEnvironment)
        json.member("apnsToken", apnsToken)
        json.member("webcourierURL", webcourierURL)
    }
}

/// Where a file is to be uploaded to.
package struct WireUploadToken: Hashable, Sendable, WireBody {
    package var recordName: String
    package var fieldName: String
    package var url: String

    package init(recordName: String, fieldName: String, url: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.url = url
    }

    package init(json: JSONObject) throws(WireFormatError) {
        recordName = try json.requiredText("recordName")
        fieldName = try json.requiredText("fieldName")
        url = try json.requiredText("url")
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordName", recordName)
        json.member("fieldName", fieldName)
        json.member("url", url)
    }
}

/// The reply to `assets/upload`.
package struct UploadTokensResponse: Hashable, Sendable, WireBody {
    package var tokens: [WireUploadToken]

    package init(tokens: [WireUploadToken]) { self.tokens = tokens }

    package init(json: JSONObject) throws(WireFormatError) {
        tokens = try json.requiredObjects("tokens", WireUploadToken.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("tokens", bodies: tokens)
    }
}

/// The reply to the upload of a file.
package struct UploadedFileResponse: Hashable, Sendable, WireBody {
    package var file: ServiceAsset

    package init(file: ServiceAsset) { self.file = file }

    package init(json: JSONObject) throws(WireFormatError) {
        file = try ServiceAsset(json: json.requiredObject("singleFile"))
    }

    package func write(to json: inout JSONWriter) {
        json.member("singleFile", file)
    }
}

/// The reply to `assets/rereference`.
package struct AssetsResponse: Hashable, Sendable, WireBody {
    package var assets: [WireItem<ServiceAsset>]

    package init(assets: [WireItem<ServiceAsset>]) { self.assets = assets }

    package init(json: JSONObject) throws(WireFormatError) {
        assets = try json.requiredObjects("assets", WireItem<ServiceAsset>.init(json:))
    }

    package func write(to json: inout JSONWriter) {
        json.member("assets", bodies: assets)
    }
}

/// An empty reply.
package struct EmptyResponse: Hashable, Sendable, WireBody {
    package init() {}
    package init(json: JSONObject) throws(WireFormatError) {}
    package func write(to json: inout JSONWriter) {}
}
