import CloudKitRecordService
import Foundation

/// The options that say which service is meant, and who asks.
enum ServiceOptions {
    static let apiTokenVariable = "BACKSTITCH_API_TOKEN"
    static let webTokenVariable = "BACKSTITCH_WEB_AUTH_TOKEN"

    private static let url = Syntax.Option(
        "url", "URL", "Where the service is; Apple's unless given.")
    private static let container = Syntax.Option(
        "container", "NAME", "The container; iCloud.backstitch unless given.")
    private static let environment = Syntax.Option(
        "environment", "NAME", "development or production; development unless given.")
    private static let apiToken = Syntax.Option("api-token", "TOKEN", "The container's API token.")
    private static let webTokenFile = Syntax.Option(
        "web-token-file", "FILE",
        "A file with the user's token, kept up to date.")
    private static let certificates = Syntax.Option(
        "ca-file", "FILE", "Certificate authorities in PEM that are trusted.")
    private static let plain = Syntax.Option(
        "allow-plain-http", nil, "Sends the tokens to another machine without encryption.")

    static let all = [url, container, environment, apiToken, webTokenFile, certificates, plain]

    /// The service that the arguments mean.
    static func service(_ arguments: Arguments) throws -> CloudKitRecordService {
        let variables = ProcessInfo.processInfo.environment
        guard let apiToken = arguments.text(apiToken) ?? variables[apiTokenVariable] else {
            throw UsageError("The option --api-token is missing.")
        }
        var configuration = CloudKitConfiguration(
            container: arguments.text(container) ?? "iCloud.backstitch",
            environment: arguments.text(environment) ?? "development",
            credentials: .user(
                apiToken: apiToken, webAuthToken: try webToken(arguments, variables)))
        if let text = arguments.text(url) {
            guard let url = URL(string: text) else {
                throw UsageError(CloudKitConfiguration.violation(ofAddress: text))
            }
            configuration.url = url
        }
        configuration.certificateFile = arguments.text(certificates).map { URL(filePath: $0) }
        configuration.allowsPlainHTTP = arguments.has(plain)
        if let violation = configuration.violation { throw UsageError(violation) }
        return try CloudKitRecordService(configuration)
    }

    private static func webToken(
        _ arguments: Arguments, _ variables: [String: String]
    ) throws -> WebAuthToken {
        guard let path = arguments.text(webTokenFile) else {
            guard let token = variables[webTokenVariable] else {
                throw UsageError("The option --web-token-file is missing.")
            }
            return WebAuthToken(token)
        }
        let text = try InputFile.text(path, of: webTokenFile)
        return WebAuthToken(text.trimmingCharacters(in: .whitespacesAndNewlines)) { token in
            // Written to another file first: a token that is half written is none.
            try? Data(token.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        }
    }
}
