import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubBucket

/// Addresses, credentials and documents of buckets.
@Suite(.budgeted) struct BucketTests {
    private static let credentials = BucketCredentials(accessKey: "key", secret: "secret")

    @Test func `an address has a host, a bucket and maybe a prefix`() throws {
        let bucket = try Bucket(
            "https://s3.example.com/my-bucket/a/b/", credentials: Self.credentials)
        #expect(bucket.origin == "https://s3.example.com" && bucket.host == "s3.example.com")
        #expect(bucket.name == "my-bucket" && bucket.prefix == "a/b/")
        #expect(bucket.region == "us-east-1")
        let local = try Bucket("http://127.0.0.1:9000/b", credentials: Self.credentials)
        #expect(local.host == "127.0.0.1:9000" && local.prefix == "")
        let standard = try Bucket("https://h:443/b", credentials: Self.credentials)
        #expect(standard.host == "h")
        let six = try Bucket("http://[::1]:9000/b", credentials: Self.credentials)
        #expect(six.host == "[::1]:9000" && six.origin == "http://[::1]:9000")
    }

    @Test(arguments: [
        "", "bucket", "s3://bucket", "https://host", "https://host/", "https:///bucket",
        "https://host/b?x=1", "https://host/b#x", "https://user:hidden@host/b",
        "https://host/b/../c",
        "https://host/b%20c", "http://example.com/bucket", "http://128.0.0.1/b",
        "http://localhost.example.com/b",
    ])
    func `an address that is none is refused`(address: String) {
        #expect(throws: HubError.self) { try Bucket(address, credentials: Self.credentials) }
        do { _ = try Bucket(address, credentials: Self.credentials) } catch {
            #expect(!"\(error)".contains("hidden"))
        }
    }

    @Test func `credentials come from a file or from the environment`() throws {
        let file = try BucketCredentials(file: "key\r\n  secret \n")
        #expect(file.accessKey == "key" && file.secret == "secret" && file.sessionToken == nil)
        #expect(try BucketCredentials(file: "key\nsecret\ntoken\n").sessionToken == "token")
        for text in ["", "key", "\n", "a\nb\nc\nd"] {
            #expect(throws: HubError.self) { try BucketCredentials(file: text) }
        }
        let variables = ["AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"]
        let told = try #require(BucketCredentials(environment: variables))
        #expect(told.accessKey == "key" && told.secret == "secret" && told.sessionToken == nil)
        #expect(BucketCredentials(environment: ["AWS_ACCESS_KEY_ID": "key"]) == nil)
        #expect(BucketCredentials(environment: [:]) == nil)
    }

    @Test func `elements are found by their whole names, and unescaped`() {
        let text = XMLText(
            Array(
                """
                <?xml version="1.0"?><L xmlns="http://x/"><KeyCount>2</KeyCount><Key>a&amp;b</Key>
                <Contents><Key>&lt;c&#x41;&#66;&quot;</Key><Size>3</Size></Contents><Empty/></L>
                """.utf8))
        #expect(text.all("Key") == ["a&b", "<cAB\""])
        #expect(text.first("KeyCount") == "2" && text.first("Coun") == nil)
        #expect(text.elements("Contents").map { $0.first("Size") } == ["3"])
        #expect(text.first("Empty") == nil && XMLText(Array("<Key>a".utf8)).first("Key") == nil)
        #expect(XMLText(Array("&<Key>&amp</Key>".utf8)).first("Key") == "&amp")
    }

    @Test func `pauses become longer, are never all the same, and end`() {
        let patience = Bucket.Patience()
        #expect(patience.pause(after: 1, asked: nil, chance: 0) == 100)
        #expect(patience.pause(after: 1, asked: nil, chance: 100) == 200)
        #expect(patience.pause(after: 2, asked: nil, chance: 0) == 200)
        #expect(patience.pause(after: 60, asked: nil, chance: 0) == 2_500)
        #expect(patience.pause(after: 1, asked: 4_000, chance: 0) == 4_000)
        #expect(patience.pause(after: 1, asked: 6_000, chance: 0) == nil)
    }
}
