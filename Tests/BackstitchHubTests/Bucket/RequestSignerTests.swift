import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHubBucket

/// What AWS has published of Signature Version 4, with its keys, which open nothing.
@Suite(.budgeted) struct RequestSignerTests {
    private static let signer = RequestSigner(
        credentials: BucketCredentials(
            accessKey: "AKIAIOSFODNN7EXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), region: "us-east-1")
    private static let empty = Digest.sha256("").hexadecimal
    private static let time = "20130524T000000Z"

    private static func signature(
        _ method: String, _ path: String, query: [(String, String)] = [],
        _ headers: [(String, String)], hash: String = empty
    ) -> Substring {
        let standard = [
            ("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", hash),
            ("x-amz-date", time),
        ]
        let value = signer.authorization(
            RequestSigner.Request(
                method: method, path: path, query: query, headers: headers + standard,
                payloadHash: hash), time: time)
        return value.suffix(64)
    }

    /// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
    @Test func `the examples for S3 are signed as published`() {
        #expect(
            Self.signature("GET", "/test.txt", [("range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        #expect(
            Self.signature(
                "PUT", "/test$file.text",
                [
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ], hash: Digest.sha256("Welcome to Amazon S3.").hexadecimal)
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        #expect(
            Self.signature("GET", "/", query: [("lifecycle", "")], [])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            Self.signature("GET", "/", query: [("max-keys", "2"), ("prefix", "J")], [])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    /// `get-vanilla` and `get-vanilla-query-order-key-case` of the Signature Version 4 test suite.
    @Test func `requests of the test suite are signed as published`() {
        let signer = RequestSigner(
            credentials: BucketCredentials(
                accessKey: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            region: "us-east-1", service: "service")
        func authorization(_ query: [(String, String)]) -> String {
            signer.authorization(
                RequestSigner.Request(
                    method: "GET", path: "/", query: query,
                    headers: [
                        ("x-amz-date", "20150830T123600Z"), ("host", "example.amazonaws.com"),
                    ], payloadHash: Self.empty), time: "20150830T123600Z")
        }
        #expect(
            authorization([])
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
                + "SignedHeaders=host;x-amz-date,"
                + "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
        #expect(
            authorization([("Param2", "value2"), ("Param1", "value1")]).suffix(64)
                == "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500")
    }

    @Test func `names are escaped once, and slashes of a path are kept`() {
        #expect(RequestSigner.escaped("a/b c~-_.$é") == "a%2Fb%20c~-_.%24%C3%A9")
        #expect(RequestSigner.escaped("/a/b c", keepsSlashes: true) == "/a/b%20c")
        #expect(
            RequestSigner.text(ofQuery: [("uploadId", "a=b&c"), ("partNumber", "1"), ("a", "")])
                == "a=&partNumber=1&uploadId=a%3Db%26c")
    }

    @Test func `times are those of the calendar`() {
        #expect(RequestSigner.time(0) == "19700101T000000Z")
        #expect(RequestSigner.time(1_369_353_600_000) == Self.time)
        #expect(RequestSigner.time(951_782_399_999) == "20000228T235959Z")
        #expect(RequestSigner.time(951_782_400_000) == "20000229T000000Z")
        #expect(RequestSigner.time(1_709_251_199_000) == "20240229T235959Z")
        #expect(RequestSigner.time(4_107_542_400_000) == "21000301T000000Z")
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        for day in stride(from: Int64(0), to: 60_000, by: 37) {
            let milliseconds = (day * 86_400 + day * 7 % 86_400) * 1_000
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            #expect(RequestSigner.time(milliseconds) == formatter.string(from: date))
        }
    }
}
