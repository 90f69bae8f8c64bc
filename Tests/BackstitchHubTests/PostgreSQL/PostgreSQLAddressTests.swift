import TestBudget
import Testing

@testable import BackstitchHubPostgreSQL

@Suite("Addresses of databases", .budgeted) struct PostgreSQLAddressTests {
    @Test
    func `a URI and keywords are addresses, and their name has no more than host and database`()
        throws
    {
        for text in [
            "postgresql://hub@db.example.com/hub?sslmode=verify-full",
            "host=db.example.com dbname=hub user=hub sslkey=/secret",
        ] {
            let address = try PostgreSQLAddress(text, password: "open sesame")
            #expect(address.name == "'hub' at 'db.example.com'")
        }
    }

    @Test(arguments: [
        "postgresql://hub:sesame@db.example.com/hub", "host=x password=sesame",
        "host=x sslpassword=sesame", "postgresql://hub:sesame@db.example.com:port:/hub",
        "password=sesame host", "postgresql://hub:sesame@[::1/hub", "sesame=1", "'sesame",
    ])
    func `one with a password, or that can't be read, is refused without a word of it`(
        text: String
    ) {
        do {
            _ = try PostgreSQLAddress(text)
            Issue.record("It was taken.")
        } catch {
            #expect(!"\(error)".contains("sesame"))
        }
    }

    @Test func `a server that is away is told as that, without the password`() throws {
        let address = try PostgreSQLAddress("host=/nowhere dbname=x", password: "sesame")
        do {
            _ = try Connection(address, .standard)
            Issue.record("There is a connection.")
        } catch {
            #expect(error.kind == .away && error.mayPass && !"\(error)".contains("sesame"))
        }
    }
}
