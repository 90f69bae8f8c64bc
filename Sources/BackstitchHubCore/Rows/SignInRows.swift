import CloudKitWire
import Foundation
import WireCrypto

/// What is kept of the password of a user, who signs in with it on the hub's page.
struct PasswordRow: HubRow, Hashable, Sendable {
    static let title = "what is kept of a password"

    var password: PasswordHash

    static func key(realm: UInt32, _ userRecordName: String) -> HubKey {
        HubKey(.global, .password).adding(realm).adding(userRecordName)
    }

    init(_ password: PasswordHash) { self.password = password }

    init(json: JSONObject) throws(WireFormatError) {
        guard let salt = Data(base64Encoded: try json.requiredText("salt")),
            let hash = Data(base64Encoded: try json.requiredText("scrypt"))
        else { throw WireFormatError("The salt or the hash is no base64.") }
        password = PasswordHash(salt: Array(salt), hash: Array(hash))
    }

    func write(to json: inout JSONWriter) {
        json.member("salt", Data(password.salt).base64EncodedString())
        json.member("scrypt", Data(password.hash).base64EncodedString())
    }
}

/// A code that signs a user in once, by its SHA-256; the code is not kept.
struct SignInCodeRow: HubRow, Hashable, Sendable {
    static let title = "a code to sign in with"

    var realm: UInt32
    var userRecordName: String
    /// In milliseconds since 1970.
    var expires: Int64

    static func key(_ code: SignInCode) -> HubKey {
        HubKey(.global, .signInCode).adding(Digest.sha256(code.text))
    }

    init(realm: UInt32, userRecordName: String, expires: Int64) {
        (self.realm, self.userRecordName, self.expires) = (realm, userRecordName, expires)
    }

    init(json: JSONObject) throws(WireFormatError) {
        realm = try json.number32("realm")
        userRecordName = try json.requiredText("user")
        expires = try json.integer("expires") ?? 0
    }

    func write(to json: inout JSONWriter) {
        json.member("realm", integer: Int64(realm))
        json.member("user", userRecordName)
        json.member("expires", integer: expires)
    }
}

/// A code that signs a user in once: twelve digits of base 32, which are 60 random bits.
struct SignInCode: Hashable, Sendable {
    static let digitCount = 12
    /// Those of Crockford's base 32, without letters that are taken for digits.
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// The digits alone.
    let text: String

    /// Makes a code from random bytes, one for each digit.
    init(secret: [UInt8]) {
        text = String(secret.prefix(Self.digitCount).map { Self.digits[Int($0 & 31)] })
    }

    /// Reads a code as people type it: in any case, with blanks and dashes, O for 0, I and L for 1.
    init?(typed: String) {
        guard typed.utf8.count <= 64 else { return nil }
        let text = typed.uppercased().compactMap { digit -> Character? in
            switch digit {
            case " ", "-": nil
            case "O": "0"
            case "I", "L": "1"
            default: digit
            }
        }
        guard text.count == Self.digitCount, text.allSatisfy(Self.digits.contains) else {
            return nil
        }
        self.text = String(text)
    }

    /// The code as it is told, in groups of four.
    var told: String {
        stride(from: 0, to: text.count, by: 4).map { String(text.dropFirst($0).prefix(4)) }
            .joined(separator: "-")
    }
}
