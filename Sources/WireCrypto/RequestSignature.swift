import Foundation

/// What a server-to-server request signs: `date:bodyHash:path`.
package enum RequestSignature {
    /// The message that is signed.
    ///
    /// - Parameters:
    ///   - date: As in the header, ISO 8601 without fractions of seconds.
    ///   - path: From `/database` on, with the query.
    package static func message(date: String, body: [UInt8], path: String) -> [UInt8] {
        let hash = Data(Digest.sha256(body)).base64EncodedString()
        return Array("\(date):\(hash):\(path)".utf8)
    }

    /// The message of a request without a body in the other form that is about: no hash at all.
    package static func messageWithoutBody(date: String, path: String) -> [UInt8] {
        Array("\(date)::\(path)".utf8)
    }
}
