public import BackstitchCore
public import Foundation

/// The service and the database that a client uses.
public struct CloudKitConfiguration: Sendable {
    /// Apple's service.
    public static var appleURL: URL {
        guard let url = URL(string: "https://api.apple-cloudkit.com") else {
            preconditionFailure("The address of Apple's service is one.")
        }
        return url
    }

    /// Scheme, host and port of the service, such as `https://hub.example.com:8480`.
    public var url: URL
    /// The container, such as `iCloud.com.example.notes`.
    public var container: String
    /// `development` or `production`.
    public var environment: String
    /// The database.
    public var scope: DatabaseScope
    /// The credentials of the client.
    public var credentials: CloudKitCredentials
    /// A file of certificate authorities in PEM that are trusted instead of the system's.
    public var certificateFile: URL?
    /// Whether tokens may be sent to other machines without encryption, so that everyone on the way
    /// can read them. Loopback addresses can always be reached by `http`.
    public var allowsPlainHTTP = false
    /// How long a request may take.
    public var timeout = Duration.seconds(60)
    /// The place in a trace of the request that is being made, as the header `traceparent` of W3C
    /// Trace Context spells it; nil for no trace. A text that is not a valid header is not sent. It
    /// is asked for each request, in the task that makes it. A hub has the trace in its access log.
    public var traceParent: (@Sendable () -> String?)?
    /// The bytes of a file that are sent in one request, to a service that takes parts.
    package var uploadPartBytes = 4 << 20
    /// The limits of one request; by default those of the protocol.
    public var limits = ServiceLimits()

    /// A configuration, for the private database unless `scope` names another one.
    public init(
        url: URL = CloudKitConfiguration.appleURL, container: String,
        environment: String = "development", scope: DatabaseScope = .private,
        credentials: CloudKitCredentials
    ) {
        self.url = url
        self.container = container
        self.environment = environment
        self.scope = scope
        self.credentials = credentials
    }
}

extension CloudKitConfiguration {
    /// What makes the configuration one that no request can be made with, and what to do; nil if
    /// nothing does.
    package var violation: String? {
        let parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        guard let scheme = parts?.scheme?.lowercased(), ["http", "https"].contains(scheme),
            parts?.host?.isEmpty == false
        else { return Self.violation(ofAddress: url.absoluteString) }
        if let file = certificateFile, !file.isFileURL {
            return "The certificates are at '\(file.absoluteString)'. Give a file of this machine, "
                + "made with URL(filePath:)."
        }
        guard ServiceNames.isRecordName(container), !container.contains("/") else {
            return "The container is '\(container)'. Give its name, such as "
                + "iCloud.com.example.notes."
        }
        guard ["development", "production"].contains(environment) else {
            return "The environment is '\(environment)'. Give development or production."
        }
        return nil
    }

    /// What to do about an address that is not one of a service.
    package static func violation(ofAddress text: String) -> String {
        "The address of the service is '\(text)'. Give it as https://, the host and, if "
            + "it is not 443, the port."
    }

    /// The address that paths of calls follow.
    var base: String {
        let text = url.absoluteString
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
