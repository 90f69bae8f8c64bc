public import BackstitchCore
import Foundation

/// The service and the database that a client uses.
public struct CloudKitConfiguration: Sendable {
    /// Apple's service.
    public static let appleURL = "https://api.apple-cloudkit.com"

    /// Scheme, host and port, without a slash at the end.
    public var url: String
    /// The container, such as `iCloud.com.example.notes`.
    public var container: String
    /// `development` or `production`.
    public var environment: String
    /// The database.
    public var scope: DatabaseScope
    /// The credentials of the client.
    public var credentials: CloudKitCredentials
    /// A file of certificate authorities in PEM that are trusted instead of the system's.
    public var certificateFile: String?
    /// Whether tokens may be sent to other machines without encryption, so that everyone on the way
    /// can read them. Loopback addresses can always be reached by `http`.
    public var allowsPlainHTTP = false
    /// How long a request may take, in milliseconds.
    public var timeoutMilliseconds = 60_000
    /// The place in a trace of the request that is being made, as the header `traceparent` of W3C Trace
    /// Context spells it; nil for none, and what is no such header is not sent. It is asked for each
    /// request, in the task that makes it. A hub has the trace in its access log.
    public var traceParent: (@Sendable () -> String?)?
    /// The limits of one request; by default those of the protocol.
    public var limits = ServiceLimits()

    /// A configuration for the private database of a user, unless told otherwise.
    public init(
        url: String = CloudKitConfiguration.appleURL, container: String,
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
        let parts = URLComponents(string: url)
        guard let scheme = parts?.scheme?.lowercased(), ["http", "https"].contains(scheme),
            parts?.host?.isEmpty == false
        else {
            return "The address of the service is '\(url)'. Give it as https://, the host and, if "
                + "it is not 443, the port."
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
}
