import BackstitchHub

/// What a bucket's service knows its user by. Its description has no secret.
public struct BucketCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name of the key, which is no secret.
    public let accessKey: String
    let secret: String
    let sessionToken: String?

    /// Credentials by their parts.
    ///
    /// - Parameter sessionToken: Of credentials that count for a time.
    public init(accessKey: String, secret: String, sessionToken: String? = nil) {
        (self.accessKey, self.secret, self.sessionToken) = (accessKey, secret, sessionToken)
    }

    /// Reads a file: the name of the key in its first line, the secret in its second one, and in a third
    /// one the session's token, if there is one.
    ///
    /// - Throws: A failure if it is none. The message has nothing of the file.
    public init(file text: String) throws {
        let lines = text.split(whereSeparator: \.isNewline)
            .map { String($0.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }) }
        guard (2...3).contains(lines.count), lines.allSatisfy({ !$0.isEmpty }) else {
            throw HubError(
                .invalid,
                "The credentials of the bucket can't be read. The file has the access key in its first "
                    + "line and the secret in its second one.")
        }
        self.init(
            accessKey: lines[0], secret: lines[1], sessionToken: lines.count > 2 ? lines[2] : nil)
    }

    /// Reads the variables that the tools of AWS read; nil if they are not set.
    public init?(environment: [String: String]) {
        guard let key = environment["AWS_ACCESS_KEY_ID"], !key.isEmpty,
            let secret = environment["AWS_SECRET_ACCESS_KEY"], !secret.isEmpty
        else { return nil }
        let token = environment["AWS_SESSION_TOKEN"]
        self.init(
            accessKey: key, secret: secret, sessionToken: token?.isEmpty == true ? nil : token)
    }

    /// The name of the key alone.
    public var description: String { accessKey }

    /// The name of the key alone.
    public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
