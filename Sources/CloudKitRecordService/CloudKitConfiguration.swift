public import BackstitchCore

/// Which service and which database a client speaks to.
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
    /// How the client proves who it is.
    public var credentials: CloudKitCredentials
    /// A file of certificate authorities in PEM that are trusted instead of the system's.
    public var certificateFile: String?
    /// How long a request may take, in milliseconds.
    public var timeoutMilliseconds = 60_000
    /// What one request may carry; the defaults are those of the protocol.
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
