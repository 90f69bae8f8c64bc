import BackstitchHubCore
import CPostgreSQL

/// The address of a hub's database: a connection string of libpq, and separately a password.
public struct PostgreSQLAddress: Sendable {
    let text: String
    let password: String?
    /// Database and host, as messages name them.
    public let name: String

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: A URI, such as `postgresql://hub@db.example.com/hub?sslmode=verify-full`, or
    ///     keywords, such as `host=/run/postgresql dbname=hub`. libpq looks up missing parts as
    ///     usual, for example in `PGPASSFILE`.
    ///   - password: The role's password, if it needs one and no file of libpq's has it.
    /// - Throws: A failure if libpq can't read it, or if it has a password: others would see it among
    ///   the arguments of the program.
    public init(_ text: String, password: String? = nil) throws {
        guard let options = unsafe PQconninfoParse(text, nil) else {
            // The words of libpq would repeat parts of the text, which may be those of a password.
            throw HubError(
                .invalid,
                "The address of the database can't be read. Give a URI, such as "
                    + "postgresql://hub@localhost/hub, or keywords, such as 'host=localhost dbname=hub'."
            )
        }
        defer { unsafe PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe values[String(cString: keyword)] = unsafe String(cString: value)
            }
            unsafe option += 1
        }
        guard values["password"] == nil, values["sslpassword"] == nil else {
            throw HubError(
                .invalid,
                "The address of the database has a password, which others see among the arguments. "
                    + "Give it in a file (--storage-password), or in libpq's own (PGPASSFILE).")
        }
        (self.text, self.password) = (text, password)
        name =
            "'\(values["dbname"] ?? "the role's own")' at '\(values["host"] ?? "this machine")'"
    }

    /// Whether a text is meant as an address, and not as the path of a folder.
    public static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") || text.contains("=")
    }
}
