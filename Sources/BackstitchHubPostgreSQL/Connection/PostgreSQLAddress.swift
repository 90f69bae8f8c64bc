import BackstitchHubCore
import CPostgreSQL

/// Where a hub's database is: what libpq calls a connection string, and a password apart from it.
public struct PostgreSQLAddress: Sendable {
    let text: String
    let password: String?
    /// Database and host, as messages name them.
    public let name: String

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: A URI, such as `postgresql://hub@db.example.com/hub?sslmode=verify-full`, or keywords,
    ///     such as `host=/run/postgresql dbname=hub`. What it leaves out libpq looks for where it always
    ///     does, such as in `PGPASSFILE`.
    ///   - password: The role's password, if it needs one and no file of libpq's has it.
    /// - Throws: A failure if libpq can't read it, or if it has a password: others would see it among
    ///   the arguments of the program.
    public init(_ text: String, password: String? = nil) throws {
        guard let options = PQconninfoParse(text, nil) else {
            // The words of libpq would repeat parts of the text, which may be those of a password.
            throw HubError(
                .invalid,
                "The address of the database can't be read. Give a URI, such as "
                    + "postgresql://hub@localhost/hub, or keywords, such as 'host=localhost dbname=hub'."
            )
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
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
