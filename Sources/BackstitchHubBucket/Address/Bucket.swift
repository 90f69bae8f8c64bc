import BackstitchHub
import Foundation

/// A bucket of an S3-compatible service, in which hubs keep files.
public struct Bucket: Sendable {
    /// How long what is done with a bucket may take, and how often it is tried.
    struct Patience: Sendable {
        var connectMilliseconds = 5_000
        /// For how long nothing may come or go.
        var silenceSeconds = 20
        /// For a request without a file.
        var requestMilliseconds = 30_000
        /// For a request with a part of a file.
        var transferMilliseconds = 10 * 60_000
        var attempts = 4
        /// For how long new attempts begin: proxies give up a request after some 90 seconds.
        var attemptsMilliseconds: Int64 = 45_000
        /// Before the second attempt; each later one waits twice as long.
        var backoffMilliseconds = 200
        var backoffMillisecondsMax = 5_000
    }

    /// The scheme, host and port.
    let origin: String
    /// The header of that name.
    let host: String
    /// The name of the bucket.
    public let name: String
    /// What names of objects begin with: empty, or with a slash at the end.
    let prefix: String
    let region: String
    let credentials: BucketCredentials
    /// A file of certificate authorities in PEM; nil for those of the system.
    let certificates: String?
    var patience = Patience()
    /// Files of more bytes come in parts of as many, or of more if they would be too many.
    var partBytes = 16 << 20

    /// Reads the address of a bucket: `https://HOST/BUCKET`, or with a prefix `https://HOST/BUCKET/PREFIX`.
    ///
    /// Hubs that share a database share the bucket. All others have a bucket or a prefix of their own.
    ///
    /// - Parameters:
    ///   - region: The region that requests are signed for; `us-east-1` is what most services take that have
    ///     none.
    ///   - certificates: The path of a file of certificate authorities in PEM; nil for those of the system.
    /// - Throws: A failure if the text is not an address, or if it leads to another machine without encryption.
    public init(
        _ address: String, region: String = "us-east-1", credentials: BucketCredentials,
        certificates: String? = nil
    ) throws {
        guard let url = URLComponents(string: address), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty,
            url.query == nil, url.fragment == nil
        else { throw Self.noAddress }
        guard url.user == nil, url.password == nil else {
            throw HubError(
                .invalid,
                "The address of the bucket has a user or a password, which others see among the "
                    + "arguments. Give the credentials in a file.")
        }
        guard
            scheme == "https" || ["localhost", "::1", "[::1]"].contains(host)
                || host.hasPrefix("127.")
        else {
            throw HubError(
                .invalid,
                "The bucket is at another machine, and its address begins with http: files would go "
                    + "there unencrypted. Give an address that begins with https.")
        }
        let parts = url.path.split(separator: "/").map(String.init)
        guard let name = parts.first, Self.isName(name), parts.dropFirst().allSatisfy(Self.isName)
        else { throw Self.noAddress }
        guard Self.isName(region) else {
            throw HubError(.invalid, "The region of the bucket takes letters, digits and hyphens.")
        }
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let standard = scheme == "https" ? 443 : 80
        let port = url.port.flatMap { $0 == standard ? nil : ":\($0)" } ?? ""
        self.host = bracketed + port
        origin = "\(scheme)://\(self.host)"
        self.name = name
        prefix = parts.dropFirst().map { $0 + "/" }.joined()
        (self.region, self.credentials, self.certificates) = (region, credentials, certificates)
    }

    private static var noAddress: HubError {
        HubError(
            .invalid,
            "The address of the bucket can't be read. Give one such as "
                + "https://s3.eu-central-1.amazonaws.com/my-bucket, with a prefix behind it if others "
                + "use the bucket too.")
    }

    private static func isName(_ text: String) -> Bool {
        text != "." && text != ".." && (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
